// What workers do beside tasks, for tests of the workers alone.
#pragma once

#include "parcel/tasks/worker_pool.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace weft::parcel {

/// Nothing, and nobody sleeps: of workers that a test steps.
class NoBackground final : public BackgroundWork {
 public:
  bool poll(unsigned) override { return false; }
  std::uint64_t wakes() const noexcept override { return 0; }
  void park(unsigned, Timeout, std::uint64_t) override {}
  void wake() noexcept override {}
};

/// Nothing to communicate; workers sleep until they are woken, for a millisecond at most.
class CountedWakes final : public BackgroundWork {
 public:
  bool poll(unsigned) override { return false; }
  std::uint64_t wakes() const noexcept override {
    const std::lock_guard lock(mutex_);
    return wakes_;
  }
  void park(unsigned, Timeout, std::uint64_t seen) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(1), [&] { return wakes_ != seen; });
  }
  void wake() noexcept override {
    const std::lock_guard lock(mutex_);
    ++wakes_;
    changed_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t wakes_ = 0;
};

}  // namespace weft::parcel
