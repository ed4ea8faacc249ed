// The atomic operations on memory of a peer, and their types.
#pragma once

#include <weft/detail/language.hpp>
#include <weft/status.hpp>

#include <concepts>
#include <cstdint>

namespace weft {

/// The change that an atomic operation makes to the value at the peer. Integers wrap round.
enum class AtomicOperation : std::uint8_t {
  add,
  swap,  ///< the operand replaces the value
  bit_and,
  bit_or,
  bit_xor,
  min,
  max,
};

/// The types that have all operations, and compare-and-swap.
template <class T>
concept AtomicInteger = std::same_as<T, std::uint32_t> || std::same_as<T, std::int32_t> ||
    std::same_as<T, std::uint64_t> || std::same_as<T, std::int64_t>;

/// All types with atomic operations. Floating-point numbers have add and swap only.
template <class T>
concept AtomicValue = AtomicInteger<T> || std::same_as<T, float> || std::same_as<T, double>;

/// The answer of an atomic operation that has fetched.
template <AtomicValue T>
struct [[nodiscard]] Fetched {
  Outcome outcome = Outcome::ok;
  T value{};  ///< before the change; T{} unless the outcome is ok

  /// Whether the operation has been carried out.
  [[nodiscard]] explicit operator bool() const noexcept { return outcome == Outcome::ok; }
};

/// "add", "bit_and", ...: the enumerator's name, for messages and tables.
[[nodiscard]] constexpr const char* name_of(AtomicOperation operation) noexcept {
  switch (operation) {
    case AtomicOperation::add:
      return "add";
    case AtomicOperation::swap:
      return "swap";
    case AtomicOperation::bit_and:
      return "bit_and";
    case AtomicOperation::bit_or:
      return "bit_or";
    case AtomicOperation::bit_xor:
      return "bit_xor";
    case AtomicOperation::min:
      return "min";
    case AtomicOperation::max:
      return "max";
  }
  return "unknown";
}

}  // namespace weft
