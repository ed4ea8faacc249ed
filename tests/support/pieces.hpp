// Payloads in pieces: lists that are sent, and lists that are filled.
#pragma once

#include "support/ranks.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft::test {

/// Ways to cut `size` bytes into pieces, some of them empty.
[[nodiscard]] inline std::vector<std::vector<std::size_t>> cuts_of(std::size_t size) {
  std::vector<std::vector<std::size_t>> cuts = {
      {size}, {size / 2, size - size / 2}, {0, size, 0}, {size / 3, 0, size / 3, size - size / 3 * 2}};
  std::vector<std::size_t> small;
  for (std::size_t rest = size, step = 1; rest != 0 && small.size() < 300; step = step * 5 % 97 + 1) {
    small.push_back(std::min(rest, step));
    rest -= small.back();
  }
  small.push_back(size);
  for (std::size_t index = 0; index + 1 < small.size(); ++index) small.back() -= small[index];
  cuts.push_back(small);
  return cuts;
}

/// test::payload(size, seed), cut.
struct SentPieces {
  SentPieces(const std::vector<std::size_t>& sizes, std::uint64_t seed) {
    std::size_t size = 0;
    for (const std::size_t piece : sizes) size += piece;
    const std::vector<std::byte> whole = payload(size, seed);
    for (std::size_t piece = 0, start = 0; piece < sizes.size(); start += sizes[piece++])
      memory.emplace_back(whole.begin() + static_cast<std::ptrdiff_t>(start),
                          whole.begin() + static_cast<std::ptrdiff_t>(start + sizes[piece]));
    for (const auto& piece : memory) list.emplace_back(piece);
  }
  [[nodiscard]] std::size_t size() const {
    std::size_t size = 0;
    for (const Bytes& piece : list) size += piece.size();
    return size;
  }
  std::vector<std::vector<std::byte>> memory;  // each by itself
  std::vector<Bytes> list;
};

/// Buffers with a guard behind each.
class FilledPieces {
 public:
  explicit FilledPieces(const std::vector<std::size_t>& sizes) {
    for (const std::size_t size : sizes) memory_.emplace_back(size + kGuard, kUntouched);
    for (auto& piece : memory_) list.emplace_back(piece.data(), piece.size() - kGuard);
  }
  /// Whether the first `size` bytes of payload(length, seed) are there and nothing else is changed.
  [[nodiscard]] bool hold(std::size_t length, std::size_t size, std::uint64_t seed) const {
    const std::vector<std::byte> whole = payload(length, seed);
    std::size_t start = 0;
    for (std::size_t piece = 0; piece < list.size(); ++piece) {
      const std::size_t filled = std::min(list[piece].size(), size - start);
      if (!std::equal(list[piece].begin(), list[piece].begin() + static_cast<std::ptrdiff_t>(filled),
                      whole.begin() + static_cast<std::ptrdiff_t>(start)))
        return false;
      if (!std::all_of(memory_[piece].begin() + static_cast<std::ptrdiff_t>(filled), memory_[piece].end(),
                       [](std::byte value) { return value == kUntouched; }))
        return false;
      start += filled;
    }
    return start == size;
  }
  [[nodiscard]] bool are_untouched() const { return hold(0, 0, 0); }

  std::vector<MutableBytes> list;

 private:
  static constexpr std::size_t kGuard = 16;
  static constexpr std::byte kUntouched{0xa5};
  std::vector<std::vector<std::byte>> memory_;
};

/// Posts until it is accepted.
template <class EndpointType, class Post>
[[nodiscard]] bool accepted(Ranks<EndpointType>& ranks, const Post& post) {
  return ranks.progress_until([&] { return post().is_accepted(); });
}

}  // namespace weft::test
