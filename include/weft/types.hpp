// Small value types that every other header uses.
#pragma once

#include <weft/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace weft {

/// The longest time that an operation or a wait may take, in nanoseconds. Every std::chrono duration of whole
/// nanoseconds converts to it, so that programs can write 5ms, while this header does not include <chrono>.
class Timeout {
 public:
  constexpr Timeout() noexcept = default;
  /// A duration that is too long to be counted in nanoseconds becomes the longest possible one.
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

/// A handle of a completion object of a peer, which travels in messages instead of a pointer.
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
  /// Counts the exposures under this id, from 1; 0 marks an empty handle.
  [[nodiscard]] constexpr std::uint16_t generation() const noexcept {
    return static_cast<std::uint16_t>(bits_ >> 32);
  }
  [[nodiscard]] constexpr std::uint8_t device() const noexcept { return static_cast<std::uint8_t>(bits_); }

  /// Returns the handle of the same object, to be reached through another device of the peer.
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
