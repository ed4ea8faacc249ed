// Atomic operations whose operator and type are only known at run time.
#pragma once

#include <weft/detail/atomic_update.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::core {

using detail::AtomicType;
using detail::AtomicUpdate;

/// The size of a value, in bytes.
[[nodiscard]] constexpr std::size_t size_of(AtomicType type) noexcept {
  return type == AtomicType::uint32 || type == AtomicType::int32 || type == AtomicType::float32 ? 4 : 8;
}
/// The type's name, "double" for example, for messages.
[[nodiscard]] const char* name_of(AtomicType type) noexcept;

/// Returns true when the type exists and has this operation; both may be any number that a peer has sent.
[[nodiscard]] constexpr bool is_possible(AtomicOperation operation, AtomicType type) noexcept {
  if (type > AtomicType::float64 || operation > detail::kCompareSwap) return false;
  return type < AtomicType::float32 || operation == AtomicOperation::add ||
         operation == AtomicOperation::swap;
}

/// Returns true when devices carry out this operation on regions with native atomic operations.
[[nodiscard]] constexpr bool is_native(AtomicOperation operation, AtomicType type) noexcept {
  return (operation == AtomicOperation::add || operation == detail::kCompareSwap) &&
         (type == AtomicType::uint64 || type == AtomicType::int64);
}

/// Carries out a possible update on the aligned value at `memory`; returns the value before.
std::uint64_t carry_out(const AtomicUpdate& update, std::byte* memory) noexcept;

}  // namespace weft::core
