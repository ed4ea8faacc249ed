#include "bootstrap/local/board.hpp"

#include <gtest/gtest.h>

#include <weft/error.hpp>

#include <fcntl.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using weft::bootstrap::local::Board;
using weft::bootstrap::local::Descriptor;
using Lookup = Board::Lookup;

constexpr const char* kJob = "0123456789abcdef0123456789abcdef";
constexpr int kRanks = 5;

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

/// A launcher's board and a rank's view of it.
struct Pair {
  explicit Pair(Board::Holds holds = Board::Holds::all)
      : launchers(kJob, kRanks, holds),
        ranks(Board::open(Descriptor(::fcntl(launchers.descriptor(), F_DUPFD_CLOEXEC, 0)), kJob, kRanks)) {}

  /// What the rank is told; the value, or the answer's name.
  std::string told(int rank, std::string_view key) const {
    std::vector<std::byte> value;
    switch (ranks->look_up(rank, key, value)) {
      case Lookup::nothing:
        return "(nothing)";
      case Lookup::not_published:
        return "(not published)";
      case Lookup::value:
        break;
    }
    return {reinterpret_cast<const char*>(value.data()), value.size()};
  }

  Board launchers;
  std::unique_ptr<Board> ranks;
};

TEST(Board, tells_that_a_rank_has_published_nothing_yet) {
  const Pair pair;
  EXPECT_EQ(pair.told(4, "address"), "(not published)");
}

TEST(Board, tells_the_first_values_of_each_rank) {
  Pair pair;
  pair.launchers.publish(0, "address", bytes("here"));
  pair.launchers.publish(4, "address", bytes(""));
  EXPECT_EQ(pair.told(0, "other"), "(not published)");
  pair.launchers.publish(0, "other", bytes("there"));
  EXPECT_EQ(pair.told(0, "third"), "(nothing)");
  pair.launchers.publish(0, "third", bytes("nowhere"));
  EXPECT_EQ(pair.told(0, "address"), "here");
  EXPECT_EQ(pair.told(0, "other"), "there");
  EXPECT_EQ(pair.told(0, "third"), "(nothing)");
  EXPECT_EQ(pair.told(4, "address"), "");
  EXPECT_EQ(pair.told(4, "other"), "(not published)");
  EXPECT_EQ(pair.told(1, "address"), "(not published)");
}

TEST(Board, a_value_that_is_told_again_takes_no_further_place) {
  Pair pair;
  for (int time = 0; time < 3; ++time) pair.launchers.publish(2, "address", bytes("here"));
  pair.launchers.publish(2, "other", bytes("there"));
  EXPECT_EQ(pair.told(2, "address"), "here");
  EXPECT_EQ(pair.told(2, "other"), "there");
}

TEST(Board, keys_that_begin_alike_are_different) {
  Pair pair;
  pair.launchers.publish(1, "address", bytes("here"));
  EXPECT_EQ(pair.told(1, "addres"), "(not published)");
  EXPECT_EQ(pair.told(1, "address2"), "(not published)");
  EXPECT_EQ(pair.told(1, "Address"), "(not published)");
}

TEST(Board, leaves_long_keys_and_values_to_the_launcher) {
  Pair pair;
  const std::string long_value(225, 'v');
  const std::string long_key(25, 'k');
  pair.launchers.publish(0, "key", bytes(long_value));
  EXPECT_EQ(pair.told(0, "key"), "(nothing)");
  pair.launchers.publish(0, long_key, bytes("value"));
  EXPECT_EQ(pair.told(0, long_key), "(nothing)");
  pair.launchers.publish(0, long_key.substr(1), bytes(long_value.substr(1)));
  EXPECT_EQ(pair.told(0, long_key.substr(1)), long_value.substr(1));
  EXPECT_EQ(pair.told(0, "key"), "(nothing)");
}

TEST(Board, of_a_further_host_knows_what_it_was_told_and_no_more) {
  Pair pair(Board::Holds::some);
  EXPECT_EQ(pair.told(0, "address"), "(nothing)");
  pair.launchers.publish(0, "address", bytes("here"));
  EXPECT_EQ(pair.told(0, "address"), "here");
  EXPECT_EQ(pair.told(0, "other"), "(nothing)");
  EXPECT_EQ(pair.told(1, "address"), "(nothing)");
}

TEST(Board, departures_are_told_beside_values) {
  Pair pair;
  for (int rank = 0; rank < kRanks; ++rank)
    pair.launchers.publish(rank, "address", bytes(std::to_string(rank)));
  pair.launchers.mark_failed(kRanks - 1);
  pair.launchers.mark_left(0);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(pair.ranks->has_failed(rank), rank == kRanks - 1);
    EXPECT_EQ(pair.ranks->has_left(rank), rank == 0);
    EXPECT_EQ(pair.told(rank, "address"), std::to_string(rank));
  }
  EXPECT_EQ(pair.ranks->failures().load(), 1U);
  EXPECT_EQ(pair.ranks->departures().load(), 2U);
}

TEST(Board, of_another_size_or_job_is_refused) {
  const Board launchers(kJob, kRanks, Board::Holds::all);
  const auto open = [&](std::string_view job, int size) {
    return Board::open(Descriptor(::fcntl(launchers.descriptor(), F_DUPFD_CLOEXEC, 0)), job, size);
  };
  EXPECT_THROW(static_cast<void>(open(kJob, kRanks + 1)), weft::Error);
  EXPECT_THROW(static_cast<void>(open("another", kRanks)), weft::Error);
}

}  // namespace
