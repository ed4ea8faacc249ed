// Atomic operations on memory that this process can reach.
#pragma once

#include <weft/atomic.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::detail {

/// Compare-and-swap has two operands, and therefore calls of its own.
inline constexpr AtomicOperation kCompareSwap = AtomicOperation{7};

/// The type of an atomic operation's value, as a number that travels in messages.
enum class AtomicType : std::uint8_t { uint32, int32, uint64, int64, float32, float64 };

template <AtomicValue T>
inline constexpr AtomicType kAtomicType = std::same_as<T, std::uint32_t>   ? AtomicType::uint32
                                          : std::same_as<T, std::int32_t>  ? AtomicType::int32
                                          : std::same_as<T, std::uint64_t> ? AtomicType::uint64
                                          : std::same_as<T, std::int64_t>  ? AtomicType::int64
                                          : std::same_as<T, float>         ? AtomicType::float32
                                                                           : AtomicType::float64;

/// An operation with its operands, which are values of their type in the first bytes of a word.
struct AtomicUpdate {
  AtomicOperation operation = AtomicOperation::add;
  AtomicType type = AtomicType::uint64;
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;  // of a compare-and-swap
};

template <AtomicValue T>
[[nodiscard]] constexpr bool has_operation(AtomicOperation operation) noexcept {
  return operation <= (AtomicInteger<T> ? kCompareSwap : AtomicOperation::swap);
}

template <AtomicValue T>
[[nodiscard]] inline std::uint64_t atomic_bits(T value) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <AtomicValue T>
[[nodiscard]] inline AtomicUpdate atomic_update(AtomicOperation operation, T operand, T expected) noexcept {
  return {operation, kAtomicType<T>, atomic_bits(operand), atomic_bits(expected)};
}

[[nodiscard]] inline bool is_aligned(const std::byte* address, std::size_t size) noexcept {
  return (reinterpret_cast<std::uintptr_t>(address) & (size - 1)) == 0;
}

/// Replaces the value by the result of `change`, unless that is the same. Returns the value before the
/// change.
template <AtomicValue T, class Change>
inline T change_atomically(std::atomic_ref<T> value, const Change& change) noexcept {
  T old = value.load(std::memory_order_acquire);
  for (;;) {
    const T after = change(old);
    if (std::memcmp(&after, &old, sizeof old) == 0) return old;
    if (value.compare_exchange_weak(old, after, std::memory_order_acq_rel, std::memory_order_acquire))
      return old;
  }
}

/// Carries an operation out on the aligned value at `address`, and stores the value before it in `old`.
/// Returns false, without effect, when T does not have that operation.
template <AtomicValue T>
[[nodiscard, gnu::always_inline]] inline bool apply_atomically(std::byte* address, AtomicOperation operation,
                                                               T operand, T expected, T& old) noexcept {
  static_assert(std::atomic_ref<T>::is_always_lock_free);
  constexpr std::memory_order kOrder = std::memory_order_acq_rel;
  const std::atomic_ref<T> value(*reinterpret_cast<T*>(address));
  if (operation == AtomicOperation::swap) {
    old = value.exchange(operand, kOrder);
    return true;
  }
  if constexpr (AtomicInteger<T>) {
    switch (operation) {
      case AtomicOperation::add:
        old = value.fetch_add(operand, kOrder);
        return true;
      case AtomicOperation::swap:
        return false;
      case AtomicOperation::bit_and:
        old = value.fetch_and(operand, kOrder);
        return true;
      case AtomicOperation::bit_or:
        old = value.fetch_or(operand, kOrder);
        return true;
      case AtomicOperation::bit_xor:
        old = value.fetch_xor(operand, kOrder);
        return true;
      case AtomicOperation::min:
        old = change_atomically(value, [&](T now) { return operand < now ? operand : now; });
        return true;
      case AtomicOperation::max:
        old = change_atomically(value, [&](T now) { return now < operand ? operand : now; });
        return true;
    }
    if (operation != kCompareSwap) return false;
    old = expected;
    value.compare_exchange_strong(old, operand, kOrder, std::memory_order_acquire);
    return true;
  } else {
    if (operation != AtomicOperation::add) return false;
    old = change_atomically(value, [&](T now) { return now + operand; });
    return true;
  }
}

}  // namespace weft::detail
