// Small value types that every other header uses.
#pragma once

#include <weft/bytes.hpp>
#include <weft/detail/export.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace weft {

namespace detail {

/// Integers, and enumerators that are integers by themselves.
template <class T>
concept AnyInteger = (std::is_integral_v<T> && !std::is_same_v<T, bool>) ||
                     (std::is_enum_v<T> && std::is_convertible_v<T, std::int64_t>);

}  // namespace detail

/// Ids of unordered matching engines are below this. Ordered ones have the ids from here to kEngineIds - 1,
/// so that the id alone tells whether an engine is ordered.
inline constexpr std::uint32_t kMatchingEngines = 256;
inline constexpr std::uint32_t kEngineIds = 512;

/// What a CheckedIndex counts.
enum class IndexOf : std::uint8_t {
  device,
  engine,       ///< ids of matching engines
  exposed,      ///< ids of exposed completion objects
  context_tag,  ///< tags in matching contexts
  context_key,  ///< keys of matching contexts
};

namespace detail {
/// Throws weft::Error: there is no such index. A value below 0 comes as its bits.
[[noreturn]] WEFT_API void refuse_index(IndexOf what, std::uint64_t value, bool is_negative);
}  // namespace detail

/// An index or id in options. Takes integers of every type, so that a loop variable needs no cast, and throws
/// weft::Error for a value that `Stored` cannot hold. Reads as its value. Which values exist is checked by
/// the calls that take the options.
template <class Stored, IndexOf kOf>
class CheckedIndex {
 public:
  constexpr CheckedIndex() noexcept = default;
  template <detail::AnyInteger Integer>
  constexpr CheckedIndex(Integer value)  // NOLINT: is meant to convert
      : value_(static_cast<Stored>(value)) {
    // Promoted, because the comparisons take no characters and no enumerators.
    if (!std::in_range<Stored>(+value)) [[unlikely]]
      detail::refuse_index(kOf, static_cast<std::uint64_t>(value), std::cmp_less(+value, 0));
  }
  constexpr operator Stored() const noexcept { return value_; }  // NOLINT: reads as its value

 private:
  Stored value_{};
};

/// The index of a device of a peer, 0 to 255.
using DeviceIndex = CheckedIndex<std::uint8_t, IndexOf::device>;
/// The id of a matching engine: below kMatchingEngines unordered, from there to kEngineIds - 1 ordered.
using EngineId = CheckedIndex<std::uint16_t, IndexOf::engine>;

/// The longest time that an operation or a wait may take, in nanoseconds. Every std::chrono duration of whole
/// nanoseconds converts to it, and every one that counts in floating point, so that programs can write 5ms
/// and 0.5s, while this header does not include `<chrono>`.
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
  /// Rounded to nanoseconds, but never to 0, which as a timeout of an operation means none; a number that is
  /// none counts as the longest possible duration.
  template <class Duration>
  requires std::is_floating_point_v<typename Duration::rep>
  constexpr Timeout(const Duration& duration) noexcept {  // NOLINT: is meant to convert
    constexpr long double kUnit = 1e9L * Duration::period::num / Duration::period::den;
    const long double nanoseconds = kUnit * static_cast<long double>(duration.count());
    const long double size = nanoseconds < 0 ? -nanoseconds : nanoseconds;
    if (size == 0) return;
    std::int64_t rounded = INT64_MAX;
    if (size < 9.2e18L) rounded = size < 1 ? 1 : static_cast<std::int64_t>(size + 0.5L);
    nanoseconds_ = nanoseconds < 0 ? -rounded : rounded;
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
  [[nodiscard]] constexpr RemoteCompletion on_device(DeviceIndex device) const noexcept {
    return {id(), generation(), device};
  }
  /// id(16) | generation(16) | zero(24) | device(8).
  [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }

  friend constexpr bool operator==(RemoteCompletion, RemoteCompletion) noexcept = default;

 private:
  std::uint64_t bits_ = 0;
};

}  // namespace weft
