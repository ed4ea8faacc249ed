// The key by which sends and receives match, and its bucket in a table.
#pragma once

#include <bit>
#include <cstdint>

namespace weft::core {

/// Equal keys match. `source` is a rank, or 0 where the policy ignores it; `policy` keeps the keys of
/// different policies apart.
struct MatchKey {
  std::uint64_t tag = 0;
  std::uint32_t source = 0;
  std::uint32_t policy = 0;

  [[nodiscard]] constexpr std::uint64_t origin() const noexcept {
    return static_cast<std::uint64_t>(policy) << 32 | source;
  }
  friend constexpr bool operator==(const MatchKey&, const MatchKey&) noexcept = default;
};

/// Returns what the origin of a key contributes to the choice of its bucket.
[[nodiscard]] constexpr std::uint64_t bucket_part(std::uint64_t origin) noexcept {
  return std::rotl(origin, 40);  // away from the bits in which tags differ
}
/// Returns the bucket of a tag with the bucket_part() of its origin. `mask`: the number of buckets, a power
/// of two, less 1; `above`: the other bits, for callers that have them at hand.
///
/// The lowest bits of a tag are kept: the tags of a loop lie in adjacent buckets, which are fetched together
/// and never collide. Everything else moves that window by an amount that looks random, so that strided tags,
/// fields within tags, and many sources spread like random keys at worst. The upper half of a product alone
/// would be linear in small numbers; the highest bits of the lower half make up for that.
[[nodiscard, gnu::always_inline]] constexpr std::uint64_t bucket_of(std::uint64_t tag, std::uint64_t part,
                                                                    std::uint64_t mask,
                                                                    std::uint64_t above) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{(tag & above) ^ part} * 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  const std::uint64_t window =
      static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product) >> 40;
  return (tag + window) & mask;
}
[[nodiscard]] constexpr std::uint64_t bucket_of(const MatchKey& key, std::uint64_t mask) noexcept {
  return bucket_of(key.tag, bucket_part(key.origin()), mask, ~mask);
}

}  // namespace weft::core
