// Letters of sequences as 2-bit codes, and runs of codes packed four to a byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace kmer {

/// A, C, G, T in either case are 0 to 3, so that numeric order is the order of the letters.
inline constexpr std::uint8_t kUnknownBase = 4;    ///< another IUPAC letter: counts as N
inline constexpr std::uint8_t kInvalidLetter = 8;  ///< no nucleotide letter at all

[[nodiscard]] constexpr std::array<std::uint8_t, 256> make_base_codes() {
  std::array<std::uint8_t, 256> codes{};
  codes.fill(kInvalidLetter);
  for (char letter : std::string_view{"NRYSWKMBDHVU"}) {
    codes[static_cast<unsigned char>(letter)] = kUnknownBase;
    codes[static_cast<unsigned char>(letter - 'A' + 'a')] = kUnknownBase;
  }
  std::uint8_t code = 0;
  for (char letter : std::string_view{"ACGT"}) {
    codes[static_cast<unsigned char>(letter)] = code;
    codes[static_cast<unsigned char>(letter - 'A' + 'a')] = code;
    ++code;
  }
  return codes;
}

inline constexpr std::array<std::uint8_t, 256> kBaseCodes = make_base_codes();

/// Writes the codes of `letters` to `codes`. Returns the index of the first invalid letter, or
/// letters.size().
[[nodiscard]] inline std::size_t encode_bases(std::string_view letters, std::uint8_t* codes) noexcept {
  std::uint8_t seen = 0;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const std::uint8_t code = kBaseCodes[static_cast<unsigned char>(letters[i])];
    codes[i] = code;
    seen |= code;
  }
  if ((seen & kInvalidLetter) == 0) return letters.size();
  std::size_t i = 0;
  while (codes[i] != kInvalidLetter) ++i;
  return i;
}

/// The size in bytes of `count` packed bases.
[[nodiscard]] constexpr std::size_t packed_size(std::size_t count) noexcept { return (count + 3) / 4; }

/// Loads eight bytes from any address, first byte lowest.
[[nodiscard]] inline std::uint64_t load_word(const std::uint8_t* bytes) noexcept {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

/// Packs `count` codes below 4, the first base in the lowest bits of the first byte. Reads up to 7 codes
/// behind the end and writes up to 7 bytes behind the packed size.
inline void pack_bases(const std::uint8_t* codes, std::size_t count, std::uint8_t* packed) noexcept {
  for (std::size_t i = 0; i < count; i += 8) {
    std::uint64_t spread = load_word(codes + i) & 0x0303030303030303U;
    spread |= spread >> 6;  // bytes 0,1 -> 4 bits at 0; every second byte is then meaningful
    spread &= 0x000f000f000f000fU;
    spread |= spread >> 12;
    spread &= 0x000000ff000000ffU;
    spread |= spread >> 24;
    packed[i / 4] = static_cast<std::uint8_t>(spread);
    packed[i / 4 + 1] = static_cast<std::uint8_t>(spread >> 8);
  }
}

/// Copies `count` bases that start at base `first` of `packed` to the start of `target`. Reads up to 15 bytes
/// behind the last base and writes up to 7 bytes behind the packed size.
inline void copy_bases(const std::uint8_t* packed, std::size_t first, std::size_t count,
                       std::uint8_t* target) noexcept {
  const std::uint8_t* source = packed + first / 4;
  const unsigned shift = 2 * (first % 4);
  const std::size_t bytes = packed_size(count);
  for (std::size_t i = 0; i < bytes; i += 8) {
    std::uint64_t word = load_word(source + i) >> shift;
    if (shift != 0) word |= static_cast<std::uint64_t>(source[i + 8]) << (64 - shift);
    std::memcpy(target + i, &word, sizeof word);
  }
}

}  // namespace kmer
