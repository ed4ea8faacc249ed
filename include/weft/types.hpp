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

/// How long something may take, in nanoseconds. Every std::chrono duration of whole nanoseconds converts to
/// it, so that programs write 5ms, and those that do not need <chrono> do not get it.
class Timeout {
 public:
  constexpr Timeout() noexcept = default;
  /// What is too long to be counted in nanoseconds becomes the longest that can be.
  template <class Duration>
  requires std::is_integral_v<typename Duration::rep> &&
      (1'000'000'000 % Duration::period::den ==
       0) constexpr Timeout(const Duration& duration) noexcept  // NOLINT: is meant to convert
  {
    constexpr std::int64_t kUnit = 1'000'000'000 / Duration::period::den * Duration::period::num;
    constexpr std::int64_t kMost = INT64_MAX / kUnit;
    const auto units = static_cast<std::int64_t>(duration.count());
    nanoseconds_ = units > kMost ? INT64_MAX : units < -kMost ? -INT64_MAX : units * kUnit;
  }
  [[nodiscard]] static constexpr Timeout of_nanoseconds(std::int64_t count) noexcept {
    Timeout timeout;
    timeout.nanoseconds_ = count;
    return timeout;
  }
  [[nodiscard]] constexpr std::int64_t count() const noexcept { return nanoseconds_; }

 private:
  std::int64_t nanoseconds_ = 0;
};

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
