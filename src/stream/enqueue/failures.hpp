// The operations of a queue that have failed.
#pragma once

#include <weft/stream/stream_queue.hpp>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weft::stream {

/// Keeps the first ones, and counts the others. Any thread.
class Failures {
 public:
  static constexpr std::size_t kKept = 64;

  void add(StreamFailure failure) {
    const std::lock_guard lock(mutex_);
    if (all_.empty()) outcome_.store(failure.outcome, std::memory_order_release);
    if (all_.size() < kKept)
      all_.push_back(std::move(failure));
    else
      ++more_;
  }
  [[nodiscard]] std::vector<StreamFailure> take() {
    const std::lock_guard lock(mutex_);
    if (more_ != 0) all_.back().text += "; " + std::to_string(more_) + " more operations have failed since";
    more_ = 0;
    outcome_.store(Outcome::ok, std::memory_order_release);
    return std::exchange(all_, {});
  }
  [[nodiscard]] Outcome outcome() const noexcept { return outcome_.load(std::memory_order_acquire); }
  [[nodiscard]] std::string error() const {
    const std::lock_guard lock(mutex_);
    return all_.empty() ? std::string() : all_.front().text;
  }

 private:
  std::atomic<Outcome> outcome_{Outcome::ok};  // of the first
  mutable std::mutex mutex_;                   // guards the members below
  std::vector<StreamFailure> all_;
  std::size_t more_ = 0;
};

}  // namespace weft::stream
