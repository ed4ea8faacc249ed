// The only source of randomness of a simulated network.
#pragma once

#include <cstdint>

namespace weft::network::sim {

/// SplitMix64: equal seeds give equal sequences on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept { return mix(state_ += 0x9e3779b97f4a7c15); }
  /// A number from 0 to `bound` - 1; 0 when the bound is 0.
  std::uint64_t below(std::uint64_t bound) noexcept { return bound == 0 ? 0 : next() % bound; }
  /// Returns true in `percent` of 100 cases. Draws no number when the answer is certain.
  bool chance(std::uint32_t percent) noexcept {
    return percent != 0 && (percent >= 100 || below(100) < percent);
  }

  [[nodiscard]] static constexpr std::uint64_t mix(std::uint64_t value) noexcept {
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
  }

 private:
  std::uint64_t state_;
};

}  // namespace weft::network::sim
