// The base of all completion objects.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/message.hpp>

#include <atomic>
#include <cstdint>

namespace weft {

class Arrivals;

namespace detail {

/// Records that a receive, or an operation with a timeout, was posted with a completion object, which may
/// be null.
struct NamedCompletion {
  template <class Object>
  static void note(Object* completion) noexcept {
    // Written only once, so that the object of many receives stays in the caches of all threads that post
    // with it.
    if (completion != nullptr && !completion->is_named_.load(std::memory_order_relaxed)) [[unlikely]]
      completion->is_named_.store(true, std::memory_order_relaxed);
  }
  /// Returns true when note() was ever called for the object.
  template <class Object>
  [[nodiscard]] static bool is_noted(const Object& completion) noexcept {
    return completion.is_named_.load(std::memory_order_relaxed);
  }

  /// Notes that a device keeps another operation that names the object, which may be null. Devices are
  /// numbered from 1 in the process.
  template <class Object>
  static void note_named_by(Object* completion, std::uint32_t device) noexcept {
    if (completion == nullptr) return;
    std::uint32_t before = completion->named_by_.load(std::memory_order_relaxed);
    while (before != device && before != kSeveral)
      [[unlikely]] if (completion->named_by_.compare_exchange_weak(before, before == 0 ? device : kSeveral,
                                                                   std::memory_order_relaxed)) return;
  }
  /// Returns true when note_named_by() was ever called for the object and this device.
  template <class Object>
  [[nodiscard]] static bool is_named_by(const Object& completion, std::uint32_t device) noexcept {
    const std::uint32_t named_by = completion.named_by_.load(std::memory_order_relaxed);
    return named_by == device || named_by == kSeveral;
  }

 private:
  static constexpr std::uint32_t kSeveral = ~std::uint32_t{0};
};

class SlotBatch;
class MultiSlotBatch;
struct ParkedThread;
class Exposures;
struct AllocatorAccess;

/// The threads of this process that are parked in waits, by the address of the object that they wait for. The
/// lists are not part of the object, since a signalling thread must not touch an object that its waiter may
/// already have destroyed.
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

/// The payloads that a completion object's allocator supplies memory for.
enum class AllocatorUse : std::uint8_t {
  large_messages,  ///< messages of more than packet_size
  every_size,      ///< all messages with a payload
};

/// An object that is signalled when an operation ends or a message arrives.
///
/// Derive from it for completion objects of your own: implement signal() and ready(), call
/// notify_waiters() at the end of signal(), and retire() first thing in the destructor.
///
/// Objects may die in any order, and while operations name them: see retire(), which every destructor calls.
class WEFT_API Completion {
 public:
  Completion() noexcept = default;
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  virtual ~Completion() { retire(); }

  /// Called once per ended operation or arrived message, inside progress(), a post or cancel(), by any thread
  /// that does one of these. Must not throw and must not block. May post: refused operations go to the
  /// backlog. A signal() that needs the payload beyond the call keeps it with message.take().
  ///
  /// Operations that end during such a post are signalled inside it, nested up to four deep on a thread.
  /// Operations that end deeper are signalled by the next progress() of their device, by any thread that
  /// calls it (waits progress), or before the device closes. So a chain of operations of any length needs a
  /// bounded stack.
  virtual void signal(Message& message) noexcept = 0;
  /// Called instead of signal() for a batch of active messages that have arrived one after the other. An
  /// override takes them with arrivals.for_each() and does work that they have in common once; signal() is
  /// still called for single messages, and for messages that the override leaves. The default calls signal()
  /// for each message.
  virtual void signal_batch(Arrivals& arrivals) noexcept;
  /// Called instead of signal() for `count` operations that have ended, if the object only counts them
  /// (counts_only()). It saves the cost of making a Message.
  virtual void signal_count(std::uint64_t count) noexcept;
  /// Returns true when signal_count() may be called.
  [[nodiscard]] bool counts_only() const noexcept { return counts_only_; }

  /// Returns true when a wait for this object is over. Only reads; any thread.
  [[nodiscard]] virtual bool ready() const noexcept = 0;

  /// The messages that lie in this object until the program takes them. For explanations: approximate, only
  /// reads, any thread.
  struct AtRest {
    std::uint64_t messages = 0;
    std::uint64_t taken = 0;  // taken by the program since construction
  };
  [[nodiscard]] virtual AtRest at_rest() const noexcept { return {}; }

  /// Sets the allocator of memory for payloads of active messages to this object; the heap by default. It
  /// must outlive every message. May be called after the object was exposed, by any thread, as long as no
  /// memory has been requested: weft::Error, without effect, once a message has arrived that needed memory.
  ///
  /// every_size: each payload except empty ones is copied into memory of the allocator before the object is
  /// signalled, and the Message owns it; when allocate() returns nullptr, the message waits, and so do later
  /// messages of its sender. The heads of multipart messages are not copied.
  void set_allocator(PayloadOwner& allocator, AllocatorUse use = AllocatorUse::large_messages);
  [[nodiscard]] PayloadOwner& allocator() const noexcept {
    auto* const allocator =
        reinterpret_cast<PayloadOwner*>(allocator_.load(std::memory_order_acquire) & ~kAllocatorBits);
    return allocator != nullptr ? *allocator : detail::heap_payloads();
  }
  /// Returns true when payloads of every size go to the allocator.
  [[nodiscard]] bool allocates_every_size() const noexcept {
    return (allocator_.load(std::memory_order_relaxed) & kEverySize) != 0;
  }

  /// Withdraws the object from every handle that names it. Returns when no progress call is inside signal()
  /// any more (except the caller's own); therefore handlers in several threads must not call it at the same
  /// time, since they would wait for each other. Idempotent.
  void withdraw() noexcept;
  /// Withdraws the object from one handle, which Runtime::expose() has returned for it, or the same
  /// on_device() of another device; it stays exposed by its others. Returns false, without effect, when the
  /// handle does not name this object now. Otherwise as withdraw(); not while another thread exposes or
  /// withdraws the object.
  bool withdraw(const RemoteCompletion& handle) noexcept;

  /// Removes every reference of the library to the object, for good: no new operation may name it. The object
  /// is withdrawn; receives that name it and have not matched a message are cancelled, also those in a
  /// backlog and those with a timeout, and it is not signalled for them; it is not signalled for failures of
  /// peers any more, and no graph and no persistent receive passes a signal on to it. Other operations that
  /// name it go on without it, and are waited for, because peers may be using their buffers: retire()
  /// progresses their devices until they have ended, for at most the attribute drain_timeout. Operations that
  /// go on after that, or when this is called inside a handler, which cannot wait, are named on standard
  /// error, and end without a signal.
  ///
  /// Destructors call it, those of derived classes first thing: the call in the base's destructor comes too
  /// late for threads that are signalling the object. It costs some tens of nanoseconds; for an object with
  /// which receives were posted, one or two more for each receive, counting the most that were posted at the
  /// same time. Not while another thread uses a SerialEndpoint whose operations name the object, or posts
  /// with it. Idempotent.
  void retire() noexcept;

 protected:
  /// For objects that use no Message, neither its payload nor its outcome, and have their own signal_count(),
  /// which posts nothing.
  struct CountsOnly {};
  explicit Completion(CountsOnly) noexcept : counts_only_(true) {}

  /// Wakes threads parked in wait() for this object; one load when there are none. The last thing that
  /// signal() does: from the moment that ready() holds, a waiter may return and destroy the object, which
  /// this call does not touch.
  void notify_waiters() const noexcept { notify_waiters_of(this); }
  /// notify_waiters() for an object that may have been destroyed by now, so that its members must not be
  /// called: only the address is used.
  static void notify_waiters_of(const Completion* object) noexcept {
    // Pairs with the process-wide barrier of the thread that parks (core/device/waiting.cpp): either that
    // thread sees what signal() stored, or this load sees it parked.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (detail::parked_list(object).load(std::memory_order_relaxed) != nullptr) [[unlikely]]
      detail::wake_parked(object);
  }
  /// Tells remote senders to stop (their posts answer retry(no_credit)) or to go on. Returns false when
  /// handles are being exposed or withdrawn at this moment; try again later.
  bool stop_senders(bool stop) noexcept;
  /// For an owner that knows that no operation names the object: its destructor then skips the search.
  void set_unnamed() noexcept { is_retired_ = true; }

 private:
  friend class detail::Exposures;
  friend struct detail::AllocatorAccess;
  friend struct detail::NamedCompletion;
  static constexpr std::uintptr_t kAllocatorUsed = 1;
  static constexpr std::uintptr_t kEverySize = 2;
  static constexpr std::uintptr_t kAllocatorBits = 3;
  std::atomic<detail::Exposures*> exposures_{nullptr};
  std::atomic<std::uint32_t> first_exposure_{
      0};  // id + 1 of the first handle that names this object, 0: none
  const bool counts_only_ = false;
  std::atomic<bool> is_named_{
      false};  // a receive, or an operation with a timeout, was posted with this object
  bool is_retired_ = false;
  std::atomic<std::uint32_t> named_by_{0};  // the device that keeps an operation which names it, or kSeveral
  std::atomic<std::uintptr_t> allocator_{0};  // the allocator's address, and the bits above
};

}  // namespace weft
