#include "bootstrap/single/single.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/log.hpp"

namespace weft::bootstrap {
namespace {

class Single final : public Bootstrap {
 public:
  explicit Single(std::unique_ptr<Bootstrap> inner) : inner_(std::move(inner)) {}

  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string_view job_id() const override { return inner_->job_id(); }
  const Secret& secret() const override { return inner_->secret(); }
  void put(std::string_view key, std::span<const std::byte> value) override { inner_->put(key, value); }
  std::optional<std::vector<std::byte>> try_get(int rank, std::string_view key) override {
    return inner_->try_get(rank, key);
  }
  std::vector<std::byte> get(int rank, std::string_view key) override { return inner_->get(rank, key); }
  void barrier() override { inner_->barrier(); }
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    inner_->allgather(mine, all);
  }

  void abort(int code, std::string_view reason) override {
    base::Log{}.error("the job was aborted: " + std::string(reason));
    std::_Exit((code & 0xff) == 0 ? 1 : code & 0xff);
  }

 private:
  std::unique_ptr<Bootstrap> inner_;
};

}  // namespace

std::unique_ptr<Bootstrap> join_alone(std::unique_ptr<Bootstrap> in_process) {
  return std::make_unique<Single>(std::move(in_process));
}

}  // namespace weft::bootstrap
