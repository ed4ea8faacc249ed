// Which algorithm carries out a collective: the one table. All ranks must come to the same answer, so that it
// depends only on what is the same on all of them: the number of ranks, the bytes, whether the operation is
// one of MPI's own.
#pragma once

#include "bindings/mpi/datatypes/datatype.hpp"
#include "bindings/mpi/operations/operation.hpp"
#include "bindings/mpi/transport/world.hpp"

#include <algorithm>

namespace weft::mpi::algorithms {

/// Where a vector is cut, so that its parts stay in a cache, and travel while others are combined. A packet
/// by default.
inline constexpr MPI_Count kSegmentBytes = 32 << 10;
/// Of a reduction to one rank, whose ranks wait for whole segments of several others. Of jobs on one host
/// longer ones, so that ranks which share a core take turns less often; a second-level cache holds four.
/// Elsewhere each is a packet, which nobody asks for.
[[nodiscard]] inline MPI_Count reduced_segment_bytes(World::Way way) noexcept {
  return way == World::Way::shared_memory ? MPI_Count{256} << 10 : kSegmentBytes;
}

/// A vector that may be cut: elements one behind the other, and an operation that does not see the others,
/// and commutes.
[[nodiscard]] inline bool may_be_cut(const Reduction& operation, const Datatype& type) noexcept {
  return operation.predefined_op != 0 && type.is_contiguous && type.size > 0;
}
/// The segments of a vector that may be cut. The length of the first one tells how many there are, so that
/// ranks which have passed different counts find that out by their first message.
class Segments {
 public:
  Segments(const Datatype& type, MPI_Count count, MPI_Count bytes) noexcept
      : count_(count), length_(std::max<MPI_Count>(1, bytes / type.size)) {
    const MPI_Count whole = (count + length_ - 1) / length_;
    less_ = whole <= 1 ? 0 : std::min(whole, length_ / 2);
  }
  /// All elements in one.
  explicit Segments(MPI_Count count) noexcept : count_(count), length_(std::max<MPI_Count>(1, count)) {}

  [[nodiscard]] MPI_Count number() const noexcept {
    return std::max<MPI_Count>(1, (count_ + less_ + length_ - 1) / length_);
  }
  [[nodiscard]] MPI_Count longest() const noexcept { return length_; }
  [[nodiscard]] MPI_Count begin(MPI_Count segment) const noexcept {
    return segment == 0 ? 0 : segment * length_ - less_;
  }
  [[nodiscard]] MPI_Count elements(MPI_Count segment) const noexcept {
    return std::min(begin(segment + 1), count_) - begin(segment);
  }

 private:
  const MPI_Count count_, length_;
  MPI_Count less_ = 0;  // elements that the first segment has less than the others
};

/// A tree, segment by segment; else whole: of few segments none is under way while another one is combined.
[[nodiscard]] inline bool reduces_by_segments(MPI_Count bytes) noexcept { return bytes > 4 * kSegmentBytes; }
/// Each rank combines its share of a vector, which all then gather; else all combine all of it, in fewer
/// steps.
[[nodiscard]] inline bool shares_all_reduce(int ranks, MPI_Count count, MPI_Count bytes) noexcept {
  return ranks > 1 && count >= ranks && bytes >= MPI_Count{16} << 10;
}
/// Where a vector is cut in two: not in the middle, so that no rank which has passed half as many elements
/// takes a share for all of them.
[[nodiscard]] inline MPI_Count elements_below_cut(MPI_Count elements) noexcept {
  return elements / 2 + (elements >= 128 ? 16 : 0);
}
/// Blocks go to the ranks that combine them; else everything is combined at one rank, with fewer messages.
[[nodiscard]] inline bool sends_blocks_to_owners(int ranks, MPI_Count total_bytes) noexcept {
  return ranks == 2 || total_bytes >= MPI_Count{16} << 10;
}
/// One block after the other, where all of them together would not stay in a cache.
[[nodiscard]] inline bool combines_in_steps(int ranks, MPI_Count total_bytes) noexcept {
  return ranks > 2 && total_bytes > MPI_Count{2} << 20;
}
/// A chain of ranks, through which the segments of a long vector follow each other where it may be cut; else
/// distances that double: fewer steps, more messages and work.
[[nodiscard]] inline bool scans_by_chain(int ranks, MPI_Count bytes, bool is_cut) noexcept {
  return ranks <= 8 || (is_cut && bytes > kSegmentBytes);
}
/// How many ranks one level of a broadcast's tree multiplies: through shared memory receivers copy long
/// messages themselves, and each level less is one wait for a rank that may not be running. Whatever the
/// bytes are: ranks that have passed other counts find out by the same messages.
[[nodiscard]] inline int broadcast_radix(int ranks, World::Way way) noexcept {
  return way == World::Way::shared_memory && ranks > 4 ? 8 : 2;
}
/// Steps that double their distance: both ranks of a pair exchange, neighbours first, which mostly share a
/// host; else, where that does not come out even, each gets from one side and gives to the other.
[[nodiscard]] inline bool goes_in_pairs(int ranks) noexcept { return (ranks & (ranks - 1)) == 0; }
/// How blocks come to all ranks.
enum class ToAll : std::uint8_t {
  doubling,  // few steps, of more and more blocks, which are copied once more
  direct,    // each block to each rank at once: no step waits for another one
  ring,      // neighbours only
};
[[nodiscard]] inline ToAll gathers_to_all(int ranks, MPI_Count total_bytes) noexcept {
  if (ranks > 2 && total_bytes <= MPI_Count{16} << 10) return ToAll::doubling;
  return ranks <= 16 ? ToAll::direct : ToAll::ring;
}

}  // namespace weft::mpi::algorithms
