// The signal that a put of a region brings along, in the 8 bytes that a write has for its peer.
#pragma once

#include "network/session/device/access_ends.hpp"

#include <cstddef>
#include <cstdint>

namespace weft::network::ofi {

/// value(32) | number(10) | device(8) | rank(14).
struct PutSignal {
  static constexpr int kMostRanks = 1 << 14;
  static constexpr std::uint32_t kNumbers = 1 << 10;
  /// So far at most is a number ahead of the last that is known to have come: those of puts that are refused
  /// never come.
  static constexpr std::uint32_t kMostAhead = kNumbers / 2;

  std::uint32_t value = 0;  // the immediate
  // Of the device that has put. It counts what it puts with a signal by the peer's device, modulo kNumbers.
  std::uint32_t number = 0;
  std::uint32_t device = 0;
  std::uint32_t rank = 0;

  [[nodiscard]] constexpr std::uint64_t word() const noexcept {
    return std::uint64_t{value} << 32 | std::uint64_t{number} << 22 | std::uint64_t{device} << 14 | rank;
  }
  [[nodiscard]] static constexpr PutSignal of(std::uint64_t word) noexcept {
    const auto bits = [word](unsigned from, unsigned count) {
      return static_cast<std::uint32_t>(word >> from & ((std::uint64_t{1} << count) - 1));
    };
    return {bits(32, 32), bits(22, 10), bits(14, 8), bits(0, 14)};
  }
};

/// Which signals of one device have come: a put that was posted again may have been carried out before.
class KnownSignals {
 public:
  /// Returns true when the signal of this number has not come before. Of signals that are under way at a
  /// time, none is kWindow behind another.
  [[nodiscard]] bool is_new(std::uint32_t number) noexcept {
    const std::uint32_t ahead = (number - newest_) % PutSignal::kNumbers;
    if (ahead != 0 && ahead <= PutSignal::kMostAhead) {
      newest_ = number;
      known_ = (ahead < kWindow ? known_ << ahead : 0) | 1;
      return true;
    }
    const std::uint32_t behind = (newest_ - number) % PutSignal::kNumbers;
    if (behind >= kWindow) return false;
    const std::uint64_t bit = std::uint64_t{1} << behind;
    const bool is_new = (known_ & bit) == 0;
    known_ |= bit;
    return is_new;
  }

 private:
  static constexpr std::uint32_t kWindow = 64;
  static_assert(session::AccessEnds::kMost <= kWindow &&
                kWindow < PutSignal::kNumbers - PutSignal::kMostAhead);
  std::uint32_t newest_ = PutSignal::kNumbers - 1;  // before the first one
  std::uint64_t known_ = ~std::uint64_t{0};         // bit 0: the newest, and so on backwards
};

}  // namespace weft::network::ofi
