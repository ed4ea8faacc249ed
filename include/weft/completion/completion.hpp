// The base of all completion objects.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/message.hpp>

#include <atomic>
#include <cstdint>

namespace weft {

template <class Run>
class BasicArrivals;

namespace detail {
class SlotRun;
class WideRun;
struct ParkedThread;
class Exposures;

/// Threads that are parked in waits of this process, by the address of what they wait for. Not part of the
/// object: whoever signals must not touch an object that its waiter may already have destroyed.
inline constexpr std::size_t kParkedLists = 256;
WEFT_API extern std::atomic<ParkedThread*> parked_threads[kParkedLists];
[[nodiscard]] inline std::atomic<ParkedThread*>& parked_list(const void* object) noexcept {
  return parked_threads[reinterpret_cast<std::uintptr_t>(object) / 64 % kParkedLists];
}
/// Wakes the threads that are parked while waiting for `object`, whose memory it does not touch.
WEFT_API void wake_parked(const void* object) noexcept;
/// The heap, as the supplier of buffers for large active messages.
[[nodiscard]] WEFT_API PayloadOwner& heap_payloads() noexcept;
}  // namespace detail

/// Active messages of up to 48 bytes each, one behind the other.
using Arrivals = BasicArrivals<detail::SlotRun>;
/// The same of more than 48 bytes, all of one size.
using WideArrivals = BasicArrivals<detail::WideRun>;

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
  /// The same for active messages that have arrived one after the other, in one call. An object that
  /// overrides it takes them with arrivals.for_each() and does once what they have in common; signal() is
  /// called for single ones all the same, and for what it leaves. Without it signal() is called for each.
  virtual void signal_all(Arrivals& arrivals) noexcept;
  /// The same for longer ones, each of which takes several slots of its lane.
  virtual void signal_all_wide(WideArrivals& arrivals) noexcept;
  /// The same for `count` operations that have ended, of an object that only counts them: whoever brings the
  /// ends may call it instead of signal(), and then spares what a Message takes.
  virtual void signal_count(std::uint64_t count) noexcept;
  /// Whether signal_count() may be called.
  [[nodiscard]] bool counts_only() const noexcept { return counts_only_; }

  /// Whether a wait for this object is over. Only reads; any thread.
  [[nodiscard]] virtual bool ready() const noexcept = 0;

  /// Where the buffers of large active messages to this object come from; the heap by default. Set it
  /// before exposing the object; it must outlive every message.
  void set_allocator(PayloadOwner& allocator) noexcept { allocator_ = &allocator; }
  [[nodiscard]] PayloadOwner& allocator() const noexcept {
    return allocator_ != nullptr ? *allocator_ : detail::heap_payloads();
  }

  /// Takes the object back from every handle that names it. Returns when no progress call is inside
  /// signal() any more (except the caller's own); therefore not to be called by handlers of several threads
  /// at a time, which would wait for each other. Idempotent.
  void withdraw() noexcept;

 protected:
  /// For objects that look at no Message, neither at its payload nor at its outcome, and have their own
  /// signal_count().
  struct CountsOnly {};
  explicit Completion(CountsOnly) noexcept : counts_only_(true) {}

  /// Wakes threads parked in wait() for this object; one load when there are none. The last thing that
  /// signal() does: from the moment that ready() holds, a waiter may return and destroy the object, which
  /// this call does not touch.
  void notify_waiters() const noexcept { notify_waiters_of(this); }
  /// The same where the object may be gone by now, and with it the right to call its members: only the
  /// address is used.
  static void notify_waiters_of(const Completion* object) noexcept {
    // Pairs with the process-wide barrier of the thread that parks (core/runtime/waiting.cpp): either it
    // sees what signal() stored, or this load sees it parked.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (detail::parked_list(object).load(std::memory_order_relaxed) != nullptr) [[unlikely]]
      detail::wake_parked(object);
  }
  /// Tells remote senders to stop (their posts answer retry(no_credit)) or to go on. False: handles are being
  /// exposed or withdrawn at this moment; try again later.
  bool stop_senders(bool stop) noexcept;

 private:
  friend class detail::Exposures;
  std::atomic<detail::Exposures*> exposures_{nullptr};
  std::atomic<std::uint32_t> first_exposure_{
      0};  // id + 1 of the first handle that names this object, 0: none
  const bool counts_only_ = false;
  PayloadOwner* allocator_ = nullptr;
};

}  // namespace weft
