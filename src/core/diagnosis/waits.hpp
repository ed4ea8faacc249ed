// The threads that wait, for explanations.
#pragma once

#include <weft/binding/call_context.hpp>
#include <weft/detail/wait_condition.hpp>

#include "base/clock.hpp"
#include "concurrent/thread_number.hpp"

#include <weft/status.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace weft::core {

/// The CallContext of a thread when its wait began; its texts live as long as that.
struct CallOfWait {
  const char* call = nullptr;  // null: there is none
  const char* object = nullptr;
  const char* file = nullptr;
  std::uint32_t line = 0;

  [[nodiscard]] static CallOfWait current() noexcept {
    const CallContext* const context = CallContext::current();
    return context == nullptr
               ? CallOfWait()
               : CallOfWait{context->call(), context->object(), context->file(), context->line()};
  }
};

struct WaitingThread {
  static constexpr std::int32_t kNoDevice = -1;
  static constexpr std::int32_t kNoId = -1;
  detail::WaitDescription description;
  CallOfWait call;
  const void* completion = nullptr;  // never dereferenced
  std::int32_t device = kNoDevice;
  std::uint32_t thread = 0;
  std::int64_t since_ns = 0;
  bool is_explained = false;       // because its time limit has passed
  bool is_in_handler = false;      // of the device that it waits on, or of any for a wait without a device
  std::int32_t remote_id = kNoId;  // of the peer's object that it posts to
  std::atomic<Reason> refusal{Reason::none};  // of the post that it repeats
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
  WaitScope(Waits* waits, const detail::WaitDescription& description, const void* completion,
            std::int32_t device, std::int32_t remote_id = WaitingThread::kNoId) noexcept
      : waits_(waits),
        description_(description),
        completion_(completion),
        device_(device),
        remote_id_(remote_id) {}
  ~WaitScope() {
    if (is_entered_) waits_->remove(thread_);
  }
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

  /// `is_in_handler`: of the device that is waited on.
  void enter(bool is_in_handler = false) noexcept {
    if (waits_ == nullptr || is_entered_) return;
    thread_.description = description_;
    thread_.call = CallOfWait::current();
    thread_.completion = completion_;
    thread_.device = device_;
    thread_.thread = concurrent::thread_number();
    thread_.since_ns = base::now_ns();
    thread_.is_in_handler = is_in_handler;
    thread_.remote_id = remote_id_;
    is_entered_ = true;
    waits_->add(thread_);
  }
  /// Notes why the post that the thread repeats was refused last.
  void note_refusal(Reason reason) noexcept { thread_.refusal.store(reason, std::memory_order_relaxed); }

 private:
  Waits* const waits_;
  const detail::WaitDescription& description_;
  const void* const completion_;
  const std::int32_t device_;
  const std::int32_t remote_id_;
  bool is_entered_ = false;
  WaitingThread thread_;  // filled by enter()
};

}  // namespace weft::core
