#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace weft::tools::perf {

/// 8 bytes of the payload of message `number`; the payloads of two messages share few of them.
constexpr std::uint64_t content_word(std::uint64_t number, std::uint64_t index) {
  std::uint64_t word = (number + 1) * 0x9e3779b97f4a7c15ULL + index * 0xd1342543de82ef95ULL;
  word ^= word >> 29;
  return word * 0xbf58476d1ce4e5b9ULL;
}

/// The number of the payload that begins with this word: the inverse of content_word(number, 0).
constexpr std::uint64_t number_of_word(std::uint64_t word) {
  constexpr auto inverse = [](std::uint64_t odd) {
    std::uint64_t result = odd;  // right in 3 bits; each step doubles them
    for (int step = 0; step < 5; ++step) result *= 2 - odd * result;
    return result;
  };
  word *= inverse(0xbf58476d1ce4e5b9ULL);
  word ^= word >> 29 ^ word >> 58;
  return word * inverse(0x9e3779b97f4a7c15ULL) - 1;
}
static_assert(number_of_word(content_word(123'456'789, 0)) == 123'456'789);

inline void fill(std::byte* payload, std::size_t size, std::uint64_t number) {
  for (std::size_t at = 0; at < size; at += 8) {
    const std::uint64_t word = content_word(number, at / 8);
    std::memcpy(payload + at, &word, std::min<std::size_t>(8, size - at));
  }
}

[[nodiscard]] inline bool is_intact(const std::byte* payload, std::size_t size, std::uint64_t number) {
  for (std::size_t at = 0; at < size; at += 8) {
    const std::uint64_t word = content_word(number, at / 8);
    if (std::memcmp(payload + at, &word, std::min<std::size_t>(8, size - at)) != 0) return false;
  }
  return true;
}

/// The numbers of the messages that have arrived, and their errors.
class Ledger {
 public:
  void add(std::uint64_t number, const std::byte* payload, std::size_t size, std::size_t expected_size) {
    ++arrived_;
    if (number >= kMost || size != expected_size || !is_intact(payload, size, number)) {
      ++torn_;
      return;
    }
    if (number / 64 >= seen_.size()) seen_.resize(std::max<std::size_t>(number / 64 + 1, seen_.size() * 2));
    std::uint64_t& word = seen_[number / 64];
    const std::uint64_t bit = std::uint64_t{1} << number % 64;
    if ((word & bit) != 0) {
      ++duplicated_;
    } else {
      word |= bit;
      ++distinct_;
    }
  }

  [[nodiscard]] std::uint64_t arrived() const { return arrived_; }
  [[nodiscard]] std::uint64_t lost(std::uint64_t sent) const {
    return sent > distinct_ ? sent - distinct_ : 0;
  }
  [[nodiscard]] std::uint64_t duplicated() const { return duplicated_; }
  [[nodiscard]] std::uint64_t torn() const { return torn_; }

 private:
  static constexpr std::uint64_t kMost = std::uint64_t{1}
                                         << 33;  // bound for forged numbers, which would take all memory
  std::vector<std::uint64_t> seen_;
  std::uint64_t arrived_ = 0;
  std::uint64_t distinct_ = 0;
  std::uint64_t duplicated_ = 0;
  std::uint64_t torn_ = 0;
};

}  // namespace weft::tools::perf
