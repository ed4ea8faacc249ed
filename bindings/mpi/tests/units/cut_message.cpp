// How messages are cut: the pieces are the message, and their lengths tell ranks that have passed other
// counts.
#include "bindings/mpi/transport/cut_message.hpp"

#include <cstdint>
#include <cstdio>
#include <set>

namespace {

int failures = 0;

void expect(bool holds, const char* what, std::int64_t bytes, std::int64_t packet) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "a message of %lld bytes, packets of %lld: %s\n", static_cast<long long>(bytes),
               static_cast<long long>(packet), what);
}

void check(std::int64_t bytes, std::int64_t packet,
           std::set<std::int64_t> (&firsts)[weft::mpi::CutMessage::kMostPieces + 1]) {
  const weft::mpi::CutMessage cut(bytes, packet);
  const int pieces = cut.pieces();
  expect(pieces >= 1 && pieces <= weft::mpi::CutMessage::kMostPieces, "has a number of pieces", bytes,
         packet);
  if (pieces == 1) return;
  expect(bytes >= weft::mpi::CutMessage::kShortest, "is cut though it is short", bytes, packet);
  if (bytes <= packet) {  // as long as the first one of so many pieces, and as many
    expect(cut.length(0) == bytes, "is cut though it fits", bytes, packet);
    for (int piece = 1; piece < pieces; ++piece)
      expect(cut.length(piece) == 0, "is followed by something", bytes, packet);
    firsts[pieces].insert(bytes);
    return;
  }
  std::int64_t end = 0;
  for (int piece = 0; piece < pieces; ++piece) {
    expect(cut.begin(piece) == end, "has a gap", bytes, packet);
    end += cut.length(piece);
    expect(cut.length(piece) <= packet, "has a piece longer than a packet", bytes, packet);
    // A notice in the place of a piece has 61 bytes.
    expect(cut.length(piece) >= 4096, "has a piece that is short", bytes, packet);
  }
  expect(end == bytes, "is not all of its pieces", bytes, packet);
  expect(cut.length(0) % 2 == 1, "has a first piece of even length", bytes, packet);
  firsts[pieces].insert(cut.length(0));
}

}  // namespace

int main() {
  for (const std::int64_t packet :
       {std::int64_t{32} << 10, (std::int64_t{32} << 10) + 2, std::int64_t{64} << 10}) {
    std::set<std::int64_t> firsts[weft::mpi::CutMessage::kMostPieces + 1];
    for (std::int64_t bytes = 0; bytes < 4 * packet; ++bytes) check(bytes, packet, firsts);
    for (int pieces = 2; pieces <= weft::mpi::CutMessage::kMostPieces; ++pieces) {
      const std::int64_t first = weft::mpi::CutMessage(pieces * packet - packet / 2 - 100, packet).length(0);
      expect(weft::mpi::CutMessage(first, packet).pieces() == pieces, "looks like a first piece", first,
             packet);
    }
    for (int pieces = 2; pieces <= weft::mpi::CutMessage::kMostPieces; ++pieces) {
      expect(firsts[pieces].size() == 1, "the first piece does not tell how many there are", 0, packet);
      expect(pieces == 2 || firsts[pieces] != firsts[pieces - 1], "two numbers of pieces look the same", 0,
             packet);
    }
    expect(weft::mpi::CutMessage(packet, packet).pieces() == 1, "is cut though it fits", packet, packet);
    expect(weft::mpi::CutMessage(packet + 1, packet).pieces() == 2, "is not cut", packet + 1, packet);
  }
  expect(weft::mpi::CutMessage(1 << 20, 0).pieces() == 1, "is cut where messages go whole", 1 << 20, 0);
  expect(weft::mpi::CutMessage(40000, 16 << 10).pieces() == 1, "is cut for packets shorter than a segment",
         40000, 16 << 10);
  return failures == 0 ? 0 : 1;
}
