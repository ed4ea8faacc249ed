#include "bootstrap/in_process/hub.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

#include "bootstrap/checks.hpp"
#include "bootstrap/exchange.hpp"
#include "bootstrap/job_id.hpp"

namespace weft::bootstrap {
namespace {

struct Instance {
  explicit Instance(std::string job_id, int size) : id(std::move(job_id)), exchange(size) {}

  const std::string id;
  std::mutex mutex;
  std::condition_variable changed;  // for every change of what follows
  Exchange exchange;
  std::map<std::pair<int, std::string>, std::shared_ptr<void>, RankedKeyLess> shared;
  std::map<std::string, std::shared_ptr<void>, std::less<>> shared_by_all;
  std::string aborted;
};

class InProcess final : public Bootstrap {
 public:
  InProcess(std::shared_ptr<Instance> instance, int rank, double timeout_seconds)
      : instance_(std::move(instance)), rank_(rank), timeout_(timeout_seconds) {}

  ~InProcess() override {
    const std::lock_guard lock{instance_->mutex};
    instance_->exchange.leave(rank_, "has left the job");
    for (auto entry = instance_->shared.begin(); entry != instance_->shared.end();) {
      entry = entry->first.first == rank_ ? instance_->shared.erase(entry) : std::next(entry);
    }
    instance_->changed.notify_all();
  }

  int rank() const override { return rank_; }
  int size() const override { return instance_->exchange.size(); }
  std::string_view job_id() const override { return instance_->id; }

  void put(std::string_view key, std::span<const std::byte> value) override {
    check_key(key);
    check_value(key, value.size());
    const std::lock_guard lock{instance_->mutex};
    check_not_aborted();
    if (!instance_->exchange.put(rank_, key, value)) fail_published_twice(rank_, key);
    instance_->changed.notify_all();
  }

  std::optional<Bytes> try_get(int rank, std::string_view key) override {
    check_rank(rank, size());
    check_key(key);
    const std::lock_guard lock{instance_->mutex};
    check_not_aborted();
    const Bytes* value = instance_->exchange.find(rank, key);
    return value == nullptr ? std::nullopt : std::optional<Bytes>{*value};
  }

  Bytes get(int rank, std::string_view key) override {
    check_rank(rank, size());
    check_key(key);
    std::unique_lock lock{instance_->mutex};
    const auto answered = [&] {
      return !instance_->aborted.empty() || instance_->exchange.find(rank, key) != nullptr ||
             instance_->exchange.has_left(rank);
    };
    const bool in_time = instance_->changed.wait_for(lock, std::chrono::duration<double>(timeout_), answered);
    check_not_aborted();
    if (const auto reason = instance_->exchange.why_never(rank, key)) throw Error(*reason);
    if (!in_time) fail_not_published(rank, key, timeout_);
    return *instance_->exchange.find(rank, key);
  }

  void barrier() override { collective(CollectiveKind::barrier, {}, {}); }

  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    check_gathered(size(), mine.size(), all.size());
    collective(CollectiveKind::allgather, mine, all);
  }

  void abort(int code, std::string_view reason) override {
    const std::lock_guard lock{instance_->mutex};
    if (!instance_->aborted.empty()) return;
    instance_->aborted = "rank " + std::to_string(rank_) + " aborted the job with code " +
                         std::to_string(code == 0 ? 1 : code) + ": " + std::string(reason);
    instance_->changed.notify_all();
  }

  void share(std::string key, std::shared_ptr<void> object) override {
    check_key(key);
    const std::lock_guard lock{instance_->mutex};
    if (!instance_->shared.try_emplace({rank_, std::move(key)}, std::move(object)).second) {
      throw Error("rank " + std::to_string(rank_) + " shares an object under a key that it has already used");
    }
  }

  std::shared_ptr<void> shared(int rank, std::string_view key) override {
    check_rank(rank, size());
    const std::lock_guard lock{instance_->mutex};
    const auto found = instance_->shared.find(std::pair<int, std::string_view>{rank, key});
    return found == instance_->shared.end() ? nullptr : found->second;
  }

  std::shared_ptr<void> share_once(std::string_view key,
                                   const std::function<std::shared_ptr<void>()>& make) override {
    check_key(key);
    const std::lock_guard lock{instance_->mutex};
    const auto found = instance_->shared_by_all.find(key);
    if (found != instance_->shared_by_all.end()) return found->second;
    return instance_->shared_by_all.emplace(key, make()).first->second;
  }

 private:
  void check_not_aborted() const {
    if (!instance_->aborted.empty()) throw Error(instance_->aborted);
  }

  void collective(CollectiveKind kind, std::span<const std::byte> mine, std::span<std::byte> all) {
    std::unique_lock lock{instance_->mutex};
    check_not_aborted();
    const std::uint64_t number = instance_->exchange.arrive(rank_, kind, mine);
    if (instance_->exchange.is_decided(number)) instance_->changed.notify_all();
    instance_->changed.wait(
        lock, [&] { return instance_->exchange.is_decided(number) || !instance_->aborted.empty(); });
    check_not_aborted();
    const auto outcome = instance_->exchange.take(rank_, number);
    lock.unlock();
    if (!outcome->error.empty()) throw Error(outcome->error);
    if (outcome->gathered != nullptr)
      std::copy(outcome->gathered->begin(), outcome->gathered->end(), all.begin());
  }

  const std::shared_ptr<Instance> instance_;
  const int rank_;
  const double timeout_;
};

}  // namespace

struct Hub::Job {
  std::string id;
  int size = 0;
  double timeout_seconds = 0;
  std::mutex mutex;
  std::vector<std::shared_ptr<Instance>> instances;
  std::vector<std::size_t> joins;  // by rank
};

Hub::Hub(int ranks, double timeout_seconds) : job_(std::make_shared<Job>()) {
  if (ranks < 1) throw Error("a hub of " + std::to_string(ranks) + " ranks: it must be at least 1");
  job_->id = random_job_id();
  job_->size = ranks;
  job_->timeout_seconds = timeout_seconds;
  job_->joins.resize(static_cast<std::size_t>(ranks));
}

Hub::~Hub() = default;

std::unique_ptr<Bootstrap> Hub::join(int rank) {
  check_rank(rank, job_->size);
  const std::lock_guard lock{job_->mutex};
  const std::size_t number = job_->joins[static_cast<std::size_t>(rank)]++;
  if (number == job_->instances.size()) {
    job_->instances.push_back(
        std::make_shared<Instance>(instance_id(job_->id, static_cast<std::uint32_t>(number)), job_->size));
  }
  return std::make_unique<InProcess>(job_->instances[number], rank, job_->timeout_seconds);
}

}  // namespace weft::bootstrap
