// The threads that wait, for explanations.
#pragma once

#include <weft/detail/wait_condition.hpp>

#include "base/clock.hpp"
#include "concurrent/thread_number.hpp"

#include <cstdint>
#include <mutex>

namespace weft::core {

struct WaitingThread {
  static constexpr std::int32_t kNoDevice = -1;
  detail::WaitPlace place;
  const void* completion;  // never dereferenced
  std::int32_t device;
  std::uint32_t thread;
  std::int64_t since_ns;
  bool is_explained = false;  // because its time limit has passed
  WaitingThread* next = nullptr;
  WaitingThread* previous = nullptr;
};

/// The waits of a runtime that have lasted so long that their threads park. Exists only while explanations
/// are enabled; any thread.
class Waits {
 public:
  void add(WaitingThread& thread) noexcept {
    const std::lock_guard lock(mutex_);
    thread.next = first_;
    if (first_ != nullptr) first_->previous = &thread;
    first_ = &thread;
  }
  void remove(WaitingThread& thread) noexcept {
    const std::lock_guard lock(mutex_);
    (thread.previous != nullptr ? thread.previous->next : first_) = thread.next;
    if (thread.next != nullptr) thread.next->previous = thread.previous;
  }
  /// Calls visit(WaitingThread&) for every waiting thread, under the lock.
  template <class Visit>
  void for_each(const Visit& visit) {
    const std::lock_guard lock(mutex_);
    for (WaitingThread* thread = first_; thread != nullptr; thread = thread->next) visit(*thread);
  }

 private:
  std::mutex mutex_;  // locked by threads that are about to park, and by the explainer
  WaitingThread* first_ = nullptr;
};

/// One wait of this thread; costs nothing until enter().
class WaitScope {
 public:
  /// `waits` null: waits are not recorded.
  WaitScope(Waits* waits, const detail::WaitPlace& place, const void* completion,
            std::int32_t device) noexcept
      : waits_(waits), place_(place), completion_(completion), device_(device) {}
  ~WaitScope() {
    if (is_entered_) waits_->remove(thread_);
  }
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

  void enter() noexcept {
    if (waits_ == nullptr || is_entered_) return;
    thread_ = {place_, completion_, device_, concurrent::thread_number(), base::now_ns()};
    is_entered_ = true;
    waits_->add(thread_);
  }

 private:
  Waits* const waits_;
  const detail::WaitPlace& place_;
  const void* const completion_;
  const std::int32_t device_;
  bool is_entered_ = false;
  WaitingThread thread_;  // filled by enter()
};

}  // namespace weft::core
