// The base of all completion objects.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/message.hpp>

#include <atomic>

namespace weft {

namespace detail {
struct ParkedThread;
struct CompletionAccess;
class Exposures;
/// Wakes the threads that parked while waiting for a completion object.
WEFT_API void wake_parked(std::atomic<ParkedThread*>& list) noexcept;
/// The heap, as the supplier of buffers for large active messages.
[[nodiscard]] WEFT_API PayloadOwner& heap_payloads() noexcept;
}  // namespace detail

/// Something that is signalled when an operation ends or a message arrives.
///
/// Derive from it for completion objects of your own: implement signal() and ready(), call
/// notify_waiters() at the end of signal(), and withdraw() first thing in the destructor.
class WEFT_API Completion {
 public:
  Completion() noexcept = default;
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  /// Exposed objects are withdrawn; messages that arrive later are refused and counted.
  virtual ~Completion() { withdraw(); }

  /// Called once per ended operation or arrived message, inside progress() or a post, by any thread that
  /// does either. Must not throw and must not block. Whoever wants the payload longer than the call keeps
  /// it with message.take().
  virtual void signal(Message& message) noexcept = 0;

  /// Whether a wait for this object is over. Only reads; any thread.
  [[nodiscard]] virtual bool ready() const noexcept = 0;

  /// Where the buffers of large active messages to this object come from; the heap by default. Set it
  /// before exposing the object; it must outlive every message.
  void set_allocator(PayloadOwner& allocator) noexcept { allocator_ = &allocator; }
  [[nodiscard]] PayloadOwner& allocator() const noexcept {
    return allocator_ != nullptr ? *allocator_ : detail::heap_payloads();
  }

  /// Takes the object back from every handle that names it. Returns when no progress call is inside
  /// signal() any more (except the caller's own). Idempotent.
  void withdraw() noexcept;

 protected:
  /// Wakes threads parked in wait() for this object; one load when there are none.
  void notify_waiters() noexcept {
    // Pairs with the process-wide barrier of the thread that parks (core/runtime/waiting.cpp): either it
    // sees what signal() stored, or this load sees it parked.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (parked_.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
      detail::wake_parked(parked_);
  }
  /// Tells remote senders to stop (their posts answer retry(no_credit)) or to go on.
  void stop_senders(bool stop) noexcept;

 private:
  friend class detail::Exposures;
  friend struct detail::CompletionAccess;
  std::atomic<detail::ParkedThread*> parked_{nullptr};
  std::atomic<detail::Exposures*> exposures_{nullptr};
  std::atomic<std::uint32_t> first_exposure_{0};  // id + 1 of the first handle that names this object, 0: none
  PayloadOwner* allocator_ = nullptr;
};

}  // namespace weft
