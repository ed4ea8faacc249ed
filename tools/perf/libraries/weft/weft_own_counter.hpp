#pragma once

#include <weft/completion/completion.hpp>

#include <cstdint>

namespace weft::tools::perf {

/// Counts completions of one thread.
class OwnCounter final : public Completion {
 public:
  OwnCounter() : Completion(CountsOnly{}) {}
  ~OwnCounter() override { withdraw(); }
  void signal(Message&) noexcept override { ++value_; }
  void signal_count(std::uint64_t count) noexcept override { value_ += count; }
  [[nodiscard]] bool ready() const noexcept override { return true; }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0;
};

}  // namespace weft::tools::perf
