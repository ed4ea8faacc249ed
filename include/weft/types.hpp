// Small value types that every other header uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace weft {

/// A read-only view of bytes, the form in which every post takes its payload.
using Bytes = std::span<const std::byte>;

/// Memory that an operation fills.
using MutableBytes = std::span<std::byte>;

/// The bytes of one trivially copyable object; the view lives as long as `value`.
template <class T>
requires std::is_trivially_copyable_v<T>
[[nodiscard]] constexpr Bytes bytes_of(const T& value) noexcept {
  return {reinterpret_cast<const std::byte*>(&value), sizeof(T)};
}

/// The bytes of a contiguous range of trivially copyable elements.
template <class T, std::size_t Extent>
requires std::is_trivially_copyable_v<T>
[[nodiscard]] constexpr Bytes bytes_of(std::span<T, Extent> values) noexcept { return std::as_bytes(values); }

/// Names a completion object of a peer: what travels in a message instead of a pointer.
///
/// A handle is the same on every rank that has exposed its object under the same id the same number of
/// times; it may be copied freely and sent in messages. `device` is the home device: the device of the
/// peer that receives messages for this handle unless `on_device()` says otherwise.
class RemoteCompletion {
 public:
  constexpr RemoteCompletion() noexcept = default;
  constexpr RemoteCompletion(std::uint16_t id, std::uint16_t generation, std::uint8_t device) noexcept
      : bits_(std::uint64_t{id} << 48 | std::uint64_t{generation} << 32 | device) {}

  [[nodiscard]] constexpr std::uint16_t id() const noexcept {
    return static_cast<std::uint16_t>(bits_ >> 48);
  }
  /// Counts the exposures under this id, from 1; 0 marks a handle that names nothing.
  [[nodiscard]] constexpr std::uint16_t generation() const noexcept {
    return static_cast<std::uint16_t>(bits_ >> 32);
  }
  [[nodiscard]] constexpr std::uint8_t device() const noexcept { return static_cast<std::uint8_t>(bits_); }

  /// The same object reached through another device of the peer.
  [[nodiscard]] constexpr RemoteCompletion on_device(std::uint8_t device) const noexcept {
    return {id(), generation(), device};
  }
  /// id(16) | generation(16) | zero(24) | device(8).
  [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }

  friend constexpr bool operator==(RemoteCompletion, RemoteCompletion) noexcept = default;

 private:
  std::uint64_t bits_ = 0;
};

}  // namespace weft
