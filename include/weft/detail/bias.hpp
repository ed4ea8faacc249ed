// Biased try-locks: a thread that is the only user of a lock acquires it without a locked instruction.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/lock.hpp>

#include <atomic>
#include <cstdint>

namespace weft::detail {

/// The facts about the threads of the process that a bias needs.
struct WEFT_API ProcessThreads {
  /// Identifies the calling thread among the living threads; never 0, and a multiple of 8.
  [[nodiscard, gnu::always_inline]] static inline std::uintptr_t mark() noexcept {
    return reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  }
  /// A full memory barrier in all threads of the process.
  static void barrier() noexcept;
  /// Returns true when the kernel has such a barrier; without it nothing may be biased.
  [[nodiscard]] static bool have_barrier() noexcept;
  /// Lets other threads run.
  static void yield() noexcept;
};

/// Makes try-locks (words that are 0 when free) cheap when only one thread acquires them. A thread that has
/// acquired them often enough, while no other thread did, owns the bias: it then marks itself as inside by a
/// plain store. The first other thread revokes the bias for good, by a barrier in all threads, and the words
/// are locked by exchange from then on. One bias may stand for many words, of which its owner acquires one at
/// a time.
///
/// docs/internals/structures/biased-lock.md says why no two threads are inside at the same time. The atomic
/// type and the threads are parameters so that tests can drive schedules.
template <template <class> class Atomic = std::atomic, class Threads = ProcessThreads>
class BasicBias {
 public:
  /// The word that marks the lock as held; release() clears it. nullptr: not acquired, another thread is
  /// inside.
  using Hold = Atomic<std::uint32_t>*;

  BasicBias() noexcept : owner_(Threads::have_barrier() ? kNobody : kShared) {}

  /// Acquires the lock, or returns nullptr at once when another thread holds it.
  [[nodiscard, gnu::always_inline]] Hold acquire(Atomic<std::uint32_t>& word) noexcept {
    const std::uintptr_t me = Threads::mark();
    const std::uintptr_t owner = owner_.load(std::memory_order_acquire);
    if (owner == me) [[likely]] {
      if (Hold hold = acquire_own(word, me)) [[likely]]
        return hold;
    } else if (owner == kShared) {
      return lock(word);
    }
    return acquire_undecided(word, me);
  }
  /// acquire() for a fast path that calls no function: it also fails while it is undecided which thread has
  /// the bias. acquire(), on the slow path, decides that.
  [[nodiscard, gnu::always_inline]] Hold acquire_decided(Atomic<std::uint32_t>& word) noexcept {
    const std::uintptr_t me = Threads::mark();
    const std::uintptr_t owner = owner_.load(std::memory_order_acquire);
    if (owner == me) [[likely]]
      return acquire_own(word, me);
    return owner == kShared ? lock(word) : nullptr;
  }
  /// For objects that many threads may use at the same time at a higher cost: never fails. A thread whose
  /// hold is_alone() is the only one inside; all other threads, with or without a hold, must use the costlier
  /// path. Waits only while a thread that has just lost the bias is still inside, once in the life of a bias.
  [[nodiscard, gnu::always_inline]] Hold acquire_or_share(Atomic<std::uint32_t>& word) noexcept {
    const std::uintptr_t me = Threads::mark();
    const std::uintptr_t owner = owner_.load(std::memory_order_acquire);
    if (owner == me) [[likely]] {
      if (Hold hold = acquire_own(word, me)) [[likely]]
        return hold;
    } else if (owner == kShared) {
      return nullptr;
    }
    return share(word, me);
  }
  /// Acquires the lock only if the calling thread owns the bias already and no thread holds the word; ended
  /// by release_owned(). Returns false when another thread owns the bias or the owner is undecided, which the
  /// other functions resolve.
  [[nodiscard, gnu::always_inline]] bool acquire_owned(Atomic<std::uint32_t>& word) noexcept {
    const std::uintptr_t me = Threads::mark();
    return owner_.load(std::memory_order_acquire) == me && acquire_own(word, me) != nullptr;
  }
  [[gnu::always_inline]] void release_owned() noexcept { release(&inside_); }
  [[nodiscard, gnu::always_inline]] bool is_alone(Hold hold) const noexcept { return hold == &inside_; }
  /// Returns true while a thread has not released a lock that it holds by the bias. For destructors.
  [[nodiscard]] bool has_thread_inside() const noexcept {
    return inside_.load(std::memory_order_acquire) != 0;
  }
  [[gnu::always_inline]] static void release(Hold hold) noexcept {
    // Pairs with the acquires of `inside_` and of the word: the holder's writes are visible to the next
    // holder.
    hold->store(0, std::memory_order_release);
  }

 private:
  // owner_ holds the mark of the thread that owns the bias, or one of these constants, or a candidate: the
  // mark of the thread that acquired the lock last, how often it has done so, and how often the candidate has
  // changed.
  static constexpr std::uintptr_t kNobody = 0;
  static constexpr std::uintptr_t kShared = 1;    // for good
  static constexpr std::uintptr_t kRevoking = 2;  // the former owner may not have noticed the revocation
  static constexpr std::uintptr_t kLeaving = 3;   // the former owner may still be inside
  static constexpr int kMarkBits = 48;
  static constexpr std::uintptr_t kMark = (std::uintptr_t{1} << kMarkBits) - 1;
  static constexpr std::uintptr_t kVisit = std::uintptr_t{1} << kMarkBits;
  static constexpr std::uintptr_t kVisits = std::uintptr_t{0x3f} << kMarkBits;
  static constexpr std::uintptr_t kChange = std::uintptr_t{1} << (kMarkBits + 6);
  static constexpr std::uintptr_t kChanges = std::uintptr_t{0xf} << (kMarkBits + 6);
  static constexpr std::uintptr_t kCandidate = std::uintptr_t{1} << 63;

  [[nodiscard, gnu::always_inline]] Hold acquire_own(Atomic<std::uint32_t>& word,
                                                     std::uintptr_t me) noexcept {
#if defined(__SANITIZE_THREAD__)
    // When a new thread has the mark of a thread that has ended, the kernel orders their accesses, which the
    // sanitizer does not see.
    static_cast<void>(inside_.load(std::memory_order_acquire));
#endif
    inside_.store(1, std::memory_order_relaxed);
    // Pairs with the barrier in acquire_undecided(): either this thread sees that it has lost the bias, or
    // the other thread sees this one inside.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const bool is_free = static_cast<unsigned>(owner_.load(std::memory_order_relaxed) == me) &
                         static_cast<unsigned>(word.load(std::memory_order_acquire) == 0);
    if (!is_free) [[unlikely]] {
      inside_.store(0, std::memory_order_release);
      return nullptr;
    }
    return &inside_;
  }
  [[nodiscard, gnu::always_inline]] static Hold lock(Atomic<std::uint32_t>& word) noexcept {
    return word.load(std::memory_order_relaxed) == 0 && word.exchange(1, std::memory_order_acquire) == 0
               ? &word
               : nullptr;
  }
  [[nodiscard, gnu::noinline]] Hold acquire_undecided(Atomic<std::uint32_t>& word,
                                                      std::uintptr_t me) noexcept {
    std::uintptr_t seen = owner_.load(std::memory_order_acquire);
    // If this thread owns the bias, another thread still holds this word.
    if (seen == me || seen == kRevoking) return nullptr;
    if (seen > kLeaving && (seen & kCandidate) == 0) {
      if (!owner_.compare_exchange_strong(seen, kRevoking, std::memory_order_acq_rel,
                                          std::memory_order_acquire))
        return nullptr;
      Threads::barrier();
      owner_.store(seen = kLeaving, std::memory_order_release);
    }
    if (seen == kLeaving) {
      if (inside_.load(std::memory_order_acquire) != 0) return nullptr;
      owner_.store(seen = kShared, std::memory_order_release);
    }
    Hold hold = lock(word);
    if (hold == nullptr || seen == kShared) return hold;
    // A locked instruction on owner_, after the one on the lock: a thread that becomes the owner later sees
    // that the lock is held, and one that became the owner before is noticed here.
    if (owner_.compare_exchange_strong(seen, next_after(seen, me), std::memory_order_acq_rel,
                                       std::memory_order_acquire))
      return hold;
    release(hold);
    return nullptr;
  }
  [[nodiscard, gnu::noinline]] Hold share(Atomic<std::uint32_t>& word, std::uintptr_t me) noexcept {
    for (;;) {
      if (Hold hold = acquire_undecided(word, me)) return hold;
      std::uintptr_t seen = owner_.load(std::memory_order_acquire);
      // If this thread owns the bias, another thread still holds the word; that thread uses the costlier
      // path.
      if (seen == kShared || seen == me) return nullptr;
      // No thread has the bias, and another thread holds the word: the lock becomes shared for good.
      const bool undecided = seen == kNobody || (seen & kCandidate) != 0;
      if (undecided && owner_.compare_exchange_strong(seen, kShared, std::memory_order_acq_rel))
        return nullptr;
      if (seen == kRevoking || seen == kLeaving) Threads::yield();
    }
  }
  [[nodiscard]] static std::uintptr_t next_after(std::uintptr_t seen, std::uintptr_t me) noexcept {
    if ((me & ~kMark) != 0) return kShared;  // no room for the counts
    if ((seen & kMark) == me) return (seen & kVisits) == kVisits ? me : seen + kVisit;
    if ((seen & kChanges) == kChanges) return kShared;
    return kCandidate | ((seen & kChanges) + kChange) | me;
  }

  Atomic<std::uintptr_t> owner_;
  Atomic<std::uint32_t> inside_{0};  // written by the owner
};
using Bias = BasicBias<>;

/// Acquires a lock by lock policy: TryLock uses the bias; NoLock uses only the word.
template <class Locking, class AnyBias, class Word>
[[nodiscard, gnu::always_inline]] inline Word* enter(AnyBias& bias, Word& word) noexcept {
  if constexpr (Locking::kExclusive) {
    static_cast<void>(Locking::acquire(word));  // never fails
    Word* const hold = &word;
    if (hold == nullptr) __builtin_unreachable();  // spares callers a test for null
    return hold;
  } else {
    return bias.acquire(word);
  }
}
/// Acquires a lock by lock policy, as acquire_decided() does.
template <class Locking, class AnyBias, class Word>
[[nodiscard, gnu::always_inline]] inline Word* enter_decided(AnyBias& bias, Word& word) noexcept {
  if constexpr (Locking::kExclusive)
    return enter<Locking>(bias, word);
  else
    return bias.acquire_decided(word);
}
template <class Locking, class Word>
[[gnu::always_inline]] inline void leave(Word* hold) noexcept {
  Locking::release(*hold);
}
template <class AnyBias, class Word>
[[nodiscard]] inline Word* enter(AnyBias& bias, Word& word, bool exclusive) noexcept {
  return exclusive ? enter<NoLock>(bias, word) : enter<TryLock>(bias, word);
}
template <class Word>
inline void leave(Word* hold, bool exclusive) noexcept {
  exclusive ? leave<NoLock>(hold) : leave<TryLock>(hold);
}

}  // namespace weft::detail
