// A thread that carries out functions in their order.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

namespace weft::accelerator {

/// Any thread pushes. Delays before functions are chosen by a seed.
class WorkQueue {
 public:
  WorkQueue(std::uint64_t seed, std::uint64_t longest_delay_ns)
      : random_(seed), longest_delay_ns_(longest_delay_ns), thread_([this] { run(); }) {}
  /// Carries out everything that was pushed, unless it was dropped.
  ~WorkQueue() {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  /// Returns the number of the function, from 1 on.
  std::uint64_t push(std::function<void()> work) {
    std::uint64_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      work_.push_back(std::move(work));
      number = ++pushed_;
    }
    changed_.notify_all();
    return number;
  }
  /// Whether the function of this number, and so all before it, have been carried out or dropped.
  [[nodiscard]] bool has_ended(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return ended_ >= number;
  }
  /// Waits for everything that has been pushed so far.
  void wait_until_empty() {
    std::unique_lock lock(mutex_);
    const std::uint64_t last = pushed_;
    changed_.wait(lock, [&] { return ended_ >= last; });
  }
  /// Drops what has not begun.
  void drop() {
    const std::lock_guard lock(mutex_);
    begun_ += work_.size();
    work_.clear();
    if (!is_running_) ended_ = begun_;
    changed_.notify_all();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !work_.empty() || is_ending_; });
      if (work_.empty()) return;
      const std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      ++begun_;
      is_running_ = true;
      const std::uint64_t delay = longest_delay_ns_ == 0 ? 0 : random_() % (longest_delay_ns_ + 1);
      lock.unlock();
      if (delay != 0) std::this_thread::sleep_for(std::chrono::nanoseconds(delay));
      work();
      lock.lock();
      is_running_ = false;
      ended_ = begun_;
      if (work_.empty()) changed_.notify_all();
    }
  }

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::uint64_t pushed_ = 0;
  std::uint64_t begun_ = 0;  // or dropped
  std::uint64_t ended_ = 0;
  bool is_running_ = false;
  bool is_ending_ = false;
  std::mt19937_64 random_;
  const std::uint64_t longest_delay_ns_;
  std::thread thread_;
};

}  // namespace weft::accelerator
