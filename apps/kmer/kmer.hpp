// Packed canonical k-mers of up to 127 bases in 1 to 4 words.
#pragma once

#include "input/bases.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace kmer {

inline constexpr int kLongest = 127;

/// The number of words of a k-mer of `k` bases.
[[nodiscard]] constexpr int words_for(int k) noexcept { return (2 * k + 63) / 64; }

/// `k` bases as one number: the first base in the highest bits, word 0 the lowest, so that numeric order is
/// the order of the letters.
template <int Words>
struct Kmer {
  std::array<std::uint64_t, Words> words{};

  friend constexpr bool operator==(const Kmer&, const Kmer&) noexcept = default;
  friend constexpr bool operator<(const Kmer& a, const Kmer& b) noexcept {
    for (int i = Words - 1; i > 0; --i)
      if (a.words[i] != b.words[i]) return a.words[i] < b.words[i];
    return a.words[0] < b.words[0];
  }
};

__extension__ typedef unsigned __int128 Product;

/// The high and the low half of the full product, combined.
[[nodiscard]] inline std::uint64_t fold_product(std::uint64_t a, std::uint64_t b) noexcept {
  const Product product = static_cast<Product>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// 64 well mixed bits. The Bloom filter takes its word from the high half and its bits from the low half; the
/// table takes all of them. The owner comes from the minimizer's hash, which is independent of this one.
template <int Words>
[[nodiscard]] inline std::uint64_t hash_of(const Kmer<Words>& kmer) noexcept {
  std::uint64_t hash = 0x243f6a8885a308d3U;
  if constexpr (Words == 1) {
    hash = fold_product(kmer.words[0] ^ hash, 0x9e3779b97f4a7c15U);
  } else {
    for (int i = 0; i + 1 < Words; i += 2)
      hash = fold_product(kmer.words[i] ^ hash, kmer.words[i + 1] ^ 0x13198a2e03707344U);
    if constexpr (Words % 2 == 1) hash = fold_product(kmer.words[Words - 1] ^ hash, 0xa4093822299f31d1U);
  }
  return fold_product(hash ^ 0x082efa98ec4e6c89U, 0xd6e8feb86659fd93U);
}

template <int Words>
struct KmerHash {
  std::size_t operator()(const Kmer<Words>& kmer) const noexcept { return hash_of(kmer); }
};

/// Walks over consecutive k-mers of a sequence, keeping both strands.
template <int Words>
class RollingKmer {
 public:
  explicit RollingKmer(int k) noexcept
      : top_mask_(2 * k % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << (2 * k % 64)) - 1),
        top_shift_(static_cast<unsigned>(2 * (k - 1) % 64)) {}

  /// Starts at the first k-mer of packed bases. Reads Words x 8 bytes.
  void start(const std::uint8_t* packed) noexcept {
    // Packed order is the reverse strand's complement: base 0 in the lowest bits.
    std::array<std::uint64_t, Words> low_first;
    for (int i = 0; i < Words; ++i) low_first[i] = load_word(packed + 8 * i);
    low_first[Words - 1] &= top_mask_;
    for (int i = 0; i < Words; ++i) reverse_.words[i] = ~low_first[i];
    reverse_.words[Words - 1] &= top_mask_;
    // Reversing all Words x 32 bases leaves the k-mer at the top: shift it down.
    std::array<std::uint64_t, Words + 1> turned{};
    for (int i = 0; i < Words; ++i) turned[i] = reverse_bases(low_first[Words - 1 - i]);
    const unsigned down = 62 - top_shift_;
    for (int i = 0; i < Words; ++i)
      forward_.words[i] = down == 0 ? turned[i] : (turned[i] >> down) | (turned[i + 1] << (64 - down));
  }

  /// Moves on by one base (0 to 3).
  void advance(std::uint64_t base) noexcept {
    for (int i = Words - 1; i > 0; --i)
      forward_.words[i] = (forward_.words[i] << 2) | (forward_.words[i - 1] >> 62);
    forward_.words[0] = (forward_.words[0] << 2) | base;
    forward_.words[Words - 1] &= top_mask_;
    for (int i = 0; i + 1 < Words; ++i)
      reverse_.words[i] = (reverse_.words[i] >> 2) | (reverse_.words[i + 1] << 62);
    reverse_.words[Words - 1] = (reverse_.words[Words - 1] >> 2) | ((3 - base) << top_shift_);
  }

  /// The smaller of the k-mer and its reverse complement.
  [[nodiscard]] Kmer<Words> canonical() const noexcept {
    // Which strand is smaller is random: no branch may depend on it.
    unsigned borrow = 0;
    for (int i = 0; i < Words; ++i) {
      const std::uint64_t difference = forward_.words[i] - reverse_.words[i];
      borrow = static_cast<unsigned>(forward_.words[i] < reverse_.words[i]) |
               static_cast<unsigned>(difference < borrow);
    }
    const std::uint64_t take_forward = 0 - std::uint64_t{borrow};
    Kmer<Words> kmer;
    for (int i = 0; i < Words; ++i)
      kmer.words[i] = reverse_.words[i] ^ ((reverse_.words[i] ^ forward_.words[i]) & take_forward);
    return kmer;
  }

  [[nodiscard]] const Kmer<Words>& forward() const noexcept { return forward_; }

 private:
  [[nodiscard]] static std::uint64_t reverse_bases(std::uint64_t word) noexcept {
    word = ((word >> 2) & 0x3333333333333333U) | ((word & 0x3333333333333333U) << 2);
    word = ((word >> 4) & 0x0f0f0f0f0f0f0f0fU) | ((word & 0x0f0f0f0f0f0f0f0fU) << 4);
    return __builtin_bswap64(word);
  }

  std::uint64_t top_mask_;  // valid bits of the highest word
  unsigned top_shift_;      // position of the first base in the highest word
  Kmer<Words> forward_;
  Kmer<Words> reverse_;
};

/// Four letters for each value of a byte, the first base in the highest bits.
[[nodiscard]] constexpr std::array<std::array<char, 4>, 256> make_letter_quads() {
  std::array<std::array<char, 4>, 256> quads{};
  for (unsigned value = 0; value < 256; ++value)
    for (unsigned i = 0; i < 4; ++i) quads[value][i] = "ACGT"[(value >> (6 - 2 * i)) & 3U];
  return quads;
}

inline constexpr std::array<std::array<char, 4>, 256> kLetterQuads = make_letter_quads();

/// Writes the `k` letters of `kmer` and returns the position behind them.
template <int Words>
inline char* write_letters(const Kmer<Words>& kmer, int k, char* text) noexcept {
  int left = k;
  while (left % 4 != 0) {
    --left;
    *text++ = "ACGT"[(kmer.words[left / 32] >> (2 * (left % 32))) & 3U];
  }
  while (left > 0) {
    left -= 4;
    const auto& quad = kLetterQuads[(kmer.words[left / 32] >> (2 * (left % 32))) & 0xffU];
    std::memcpy(text, quad.data(), 4);
    text += 4;
  }
  return text;
}

}  // namespace kmer
