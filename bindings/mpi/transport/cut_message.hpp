// Messages of collectives that go to another host over a byte stream: in several pieces.
#pragma once

#include <cstdint>

namespace weft::mpi {

/// A message longer than a packet is announced, asked for, and then sent. Over TCP that round trip takes
/// longer than a copy of a few packets, so a message of a collective, which is awaited or soon will be, goes
/// there at once, in pieces of at most a packet. Both sides cut by the length alone, whatever their datatypes
/// are.
///
/// The first piece is shorter than the others, and has a length of its own for each number of pieces, an odd
/// one: ranks that have passed different counts find another length in it, or have as many pieces. A message
/// that has just this length is followed by empty ones, as many as the pieces are that it looks like the
/// first one of.
class CutMessage {
 public:
  /// More would take longer than the round trip.
  static constexpr int kMostPieces = 3;
  /// Messages that are shorter go whole.
  static constexpr std::int64_t kShortest = ((32 << 10) / 2 | 1) - 2 * kMostPieces;

  /// `packet`: the bytes of a packet; 0 where messages go whole.
  constexpr CutMessage(std::int64_t bytes, std::int64_t packet) noexcept : bytes_(bytes) {
    if (packet < kLeastPacket) return;
    for (int pieces = 2; pieces <= kMostPieces && pieces_ == 1; ++pieces) {
      const std::int64_t first = (packet / 2 | 1) - 2 * pieces;
      if (bytes != first && (bytes <= packet || bytes > first + (pieces - 1) * packet)) continue;
      pieces_ = pieces;
      first_ = first;
    }
  }
  /// 1: the message goes whole.
  [[nodiscard]] constexpr int pieces() const noexcept { return pieces_; }
  [[nodiscard]] constexpr std::int64_t begin(int piece) const noexcept {
    if (piece == 0) return 0;
    return piece == pieces_ ? bytes_ : first_ + (bytes_ - first_) * (piece - 1) / (pieces_ - 1);
  }
  [[nodiscard]] constexpr std::int64_t length(int piece) const noexcept {
    return begin(piece + 1) - begin(piece);
  }

 private:
  static constexpr std::int64_t kLeastPacket = 32 << 10;
  std::int64_t bytes_;
  std::int64_t first_ = 0;
  int pieces_ = 1;
};

/// The message of a collective of `bytes` to or from a rank of the job. `is_both_ways`: both ranks send such
/// a message at the same time. Through shared memory others go whole: what one rank sends behind the other
/// flows without a round trip for each.
[[nodiscard]] CutMessage cut_message(std::int64_t bytes, int rank, bool is_both_ways);

}  // namespace weft::mpi
