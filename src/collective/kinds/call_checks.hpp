// What collectives refuse on the rank that calls them.
#pragma once

#include "collective/kinds/steps.hpp"

#include <weft/error.hpp>

#include <functional>
#include <numeric>
#include <string>

namespace weft::collective {

[[noreturn]] inline void refuse(const KindTraits& kind, const std::string& why) {
  throw Error(std::string(kind.name) + ": " + why);
}

inline void check_root(const KindTraits& kind, const detail::CollectiveCall& call, int size) {
  if (call.root < 0 || call.root >= size)
    refuse(kind, "root " + std::to_string(call.root) + " is not a rank of this Collective (0 to " +
                     std::to_string(size - 1) + ")");
}

/// Throws weft::Error when two ranges overlap, unless they begin at the same byte and may.
inline void check_apart(const KindTraits& kind, Bytes a, Bytes b, bool may_be_same) {
  if (a.empty() || b.empty() || (may_be_same && a.data() == b.data())) return;
  const std::less<> is_before;
  if (is_before(a.data(), b.data() + b.size()) && is_before(b.data(), a.data() + a.size()))
    refuse(kind, may_be_same ? "the buffers overlap in part; they must be the same or apart"
                             : "the buffers overlap; they must be apart");
}

/// Checks the buffers of a reduction that has as many results as elements.
inline void check_reduced(const KindTraits& kind, const detail::CollectiveCall& call) {
  if (call.count != call.to_count)
    refuse(kind, "the result has room for " + std::to_string(call.to_count) + " elements, but " +
                     std::to_string(call.count) + " are reduced; both buffers have the same length");
  const std::size_t bytes = call.count * call.reduction.element;
  check_apart(kind, {call.from, bytes}, {call.to, bytes}, true);
}

/// A buffer that consists of a block for each of several ranks, one after another.
class Blocks {
 public:
  /// `counts`: elements of each block; empty: all have the same.
  /// `displacements`: where each block begins, in elements; empty: behind the one before it.
  Blocks(const detail::CollectiveCall& call, std::span<const std::size_t> counts,
         std::span<const std::size_t> displacements, std::size_t elements, std::size_t parts) noexcept
      : width_(call.reduction.element),
        counts_(counts),
        displacements_(displacements),
        each_(parts == 0 ? 0 : elements / parts) {}

  /// The first byte of a block.
  [[nodiscard]] std::size_t begin(int block) const noexcept {
    const auto index = static_cast<std::size_t>(block);
    if (counts_.empty()) return index * each_ * width_;
    if (!displacements_.empty()) return displacements_[index] * width_;
    return std::accumulate(counts_.begin(), counts_.begin() + block, std::size_t{0}) * width_;
  }
  [[nodiscard]] std::size_t bytes(int block) const noexcept { return elements(block) * width_; }
  [[nodiscard]] std::size_t elements(int block) const noexcept {
    return counts_.empty() ? each_ : counts_[static_cast<std::size_t>(block)];
  }
  [[nodiscard]] Bytes of(const std::byte* buffer, int block) const noexcept {
    return {buffer + begin(block), bytes(block)};
  }
  [[nodiscard]] std::span<std::byte> of(std::byte* buffer, int block) const noexcept {
    return {buffer + begin(block), bytes(block)};
  }

 private:
  std::size_t width_;
  std::span<const std::size_t> counts_;
  std::span<const std::size_t> displacements_;
  std::size_t each_;
};

[[nodiscard]] inline Blocks blocks_of_from(const detail::CollectiveCall& call, std::size_t parts) noexcept {
  return {call, call.from_counts, call.from_displacements, call.count, parts};
}
[[nodiscard]] inline Blocks blocks_of_to(const detail::CollectiveCall& call, std::size_t parts) noexcept {
  return {call, call.to_counts, call.to_displacements, call.to_count, parts};
}

/// Checks that blocks which begin anywhere lie in a buffer of `elements`. Blocks that overlap are not found.
inline void check_displacements(const KindTraits& kind, const char* what, std::span<const std::size_t> counts,
                                std::span<const std::size_t> displacements, std::size_t elements) {
  if (displacements.size() != counts.size())
    refuse(kind, std::to_string(displacements.size()) + " displacements are given for " +
                     std::to_string(counts.size()) + " blocks of " + what);
  for (std::size_t block = 0; block < counts.size(); ++block)
    if (counts[block] > elements || displacements[block] > elements - counts[block])
      refuse(kind, std::string(what) + " has " + std::to_string(elements) + " elements, but block " +
                       std::to_string(block) + " is to have " + std::to_string(counts[block]) + " from " +
                       std::to_string(displacements[block]) + " on");
}

/// Checks that `elements` are the blocks of `parts` ranks. `what`: the buffer, for texts.
inline void check_blocks(const KindTraits& kind, const detail::CollectiveCall& call, const char* what,
                         std::span<const std::size_t> counts, std::span<const std::size_t> displacements,
                         std::size_t elements, std::size_t parts) {
  const auto refuse_buffer = [&](const std::string& why) {
    refuse(kind, std::string(what) + " has " + std::to_string(elements) + " elements, " + why);
  };
  if (!call.blocks_differ) {
    if (parts == 0 ? elements != 0 : elements % parts != 0)
      refuse_buffer("which is no number of equal blocks for " + std::to_string(parts) + " ranks");
    return;
  }
  if (counts.size() != parts)
    refuse(kind, std::to_string(counts.size()) + " counts are given for the blocks of " +
                     std::to_string(parts) + " ranks");
  if (!displacements.empty()) return check_displacements(kind, what, counts, displacements, elements);
  std::size_t left = elements;
  for (const std::size_t count : counts) {
    if (count > left) refuse_buffer("but the counts of its blocks sum up to more");
    left -= count;
  }
  if (left != 0) refuse_buffer("but the counts of its blocks sum up to " + std::to_string(elements - left));
}

/// Checks a block of this rank against what the list of blocks says of it.
inline void check_own_block(const KindTraits& kind, const Blocks& blocks, int rank, std::size_t elements) {
  if (blocks.elements(rank) != elements)
    refuse(kind, "this rank's block has " + std::to_string(elements) + " elements, but is to have " +
                     std::to_string(blocks.elements(rank)));
}

/// Checks buffers of which `to` gets a block of every rank. The own block may lie there already.
inline void check_gathered(const KindTraits& kind, const detail::CollectiveCall& call, int rank, int size) {
  const auto ranks = static_cast<std::size_t>(size);
  check_blocks(kind, call, "the result", call.to_counts, call.to_displacements, call.to_count, ranks);
  const Blocks blocks = blocks_of_to(call, ranks);
  check_own_block(kind, blocks, rank, call.count);
  const Bytes mine{call.from, call.count * call.reduction.element};
  if (mine.data() != call.to + blocks.begin(rank))
    check_apart(kind, mine, {call.to, call.to_count * call.reduction.element}, false);
}

}  // namespace weft::collective
