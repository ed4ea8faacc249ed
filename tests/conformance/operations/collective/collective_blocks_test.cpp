// Collectives with a block for each rank, and prefix reductions: against a serial computation, as calls that
// wait and as graphs that start again.
#include "support/collectives.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace weft {
namespace {

using BlockJob = test::CollectiveJob;
using Words = std::vector<std::uint64_t>;
using Counts = std::vector<std::size_t>;

/// The word at a place of the block that one rank has for another.
std::uint64_t word(int from, int to, std::size_t place, std::uint64_t salt) {
  return test::element(from * 1000 + to, place, salt);
}

void append(Words& words, int from, int to, std::size_t count, std::uint64_t salt) {
  for (std::size_t place = 0; place < count; ++place) words.push_back(word(from, to, place, salt));
}

/// What a rank has for all ranks, or gets from all of them.
struct Exchange {
  int ranks = 1;
  bool differ = false;  // lengths of blocks
  std::size_t count = 0;
  std::uint64_t salt = 0;

  /// Elements that one rank has for another: some have none.
  [[nodiscard]] std::size_t between(int from, int to) const noexcept {
    return differ ? count * static_cast<std::size_t>((from + 2 * to) % 3) + static_cast<std::size_t>(to % 2)
                  : count;
  }
  [[nodiscard]] Words sent(int rank) const {
    Words words;
    for (int to = 0; to < ranks; ++to) append(words, rank, to, between(rank, to), salt);
    return words;
  }
  [[nodiscard]] Words got(int rank) const {
    Words words;
    for (int from = 0; from < ranks; ++from) append(words, from, rank, between(from, rank), salt);
    return words;
  }
  [[nodiscard]] Counts out(int rank) const {
    Counts counts;
    for (int to = 0; to < ranks; ++to) counts.push_back(between(rank, to));
    return counts;
  }
  [[nodiscard]] Counts in(int rank) const {
    Counts counts;
    for (int from = 0; from < ranks; ++from) counts.push_back(between(from, rank));
    return counts;
  }
  /// A rank's block where it has one only: as for rank 0.
  [[nodiscard]] Words own(int rank) const {
    Words words;
    append(words, rank, 0, between(rank, 0), salt);
    return words;
  }
};

/// Runs an operation twice: what it has made before the second time is to be made again.
bool twice(CollectiveOperation operation, Words& result) {
  for (int time = 0; time < 2; ++time) {
    std::ranges::fill(result, 7);
    operation.start();
    if (operation.wait() != Outcome::ok) return false;
  }
  return true;
}

class CollectiveBlocks : public ::testing::TestWithParam<int> {
 protected:
  static std::vector<std::size_t> counts(BlockJob& job) {
    if (job.size() > 9) return {1, 5, 700};
    if (job.is_sim()) return {0, 1, 900, 5000};
    if (job.size() > 3) return {0, 1, 64, 5000};
    return {0, 1, 64, 5000, 70'000};
  }
  /// Calls `check(collective, rank, exchange)` on all ranks for all lengths, equal and different ones.
  template <class Check>
  void everywhere(const Check& check) {
    BlockJob job(GetParam());
    std::atomic<int> wrong{0};
    job.run([&](Collective& collective, int rank) {
      std::uint64_t salt = 0;
      for (const std::size_t count : counts(job))
        for (const bool differ : {false, true}) {
          const Exchange exchange{job.size(), differ, count, ++salt};
          if (!check(collective, rank, exchange)) ++wrong;
        }
    });
    EXPECT_EQ(wrong, 0);
  }
};

TEST_P(CollectiveBlocks, are_gathered_at_a_root) {
  everywhere([](Collective& all, int rank, const Exchange& exchange) {
    const int root = static_cast<int>(exchange.salt) % exchange.ranks;
    const Words mine = exchange.own(rank);
    Words expected;
    for (int from = 0; from < exchange.ranks; ++from)
      append(expected, from, 0, exchange.between(from, 0), exchange.salt);
    const Counts counts = exchange.in(0);
    Words result(rank == root ? expected.size() : 0, 7);
    const Outcome outcome =
        exchange.differ ? all.gather(mine, result, counts, root) : all.gather(mine, result, root);
    bool is_right = outcome == Outcome::ok && (rank != root || result == expected);
    is_right = twice(exchange.differ ? all.make_gather(mine, result, counts, root)
                                     : all.make_gather(mine, result, root),
                     result) &&
               is_right;
    return is_right && (rank != root || result == expected);
  });
}

TEST_P(CollectiveBlocks, are_scattered_by_a_root) {
  everywhere([](Collective& all, int rank, const Exchange& exchange) {
    const int root = static_cast<int>(exchange.salt) % exchange.ranks;
    const Words theirs = rank == root ? exchange.sent(root) : Words();
    const Counts counts = exchange.out(root);
    Words expected;
    append(expected, root, rank, exchange.between(root, rank), exchange.salt);
    Words result(expected.size(), 7);
    const Outcome outcome =
        exchange.differ ? all.scatter(theirs, counts, result, root) : all.scatter(theirs, result, root);
    const bool is_right = outcome == Outcome::ok && result == expected;
    return twice(exchange.differ ? all.make_scatter(theirs, counts, result, root)
                                 : all.make_scatter(theirs, result, root),
                 result) &&
           is_right && result == expected;
  });
}

TEST_P(CollectiveBlocks, are_gathered_everywhere) {
  everywhere([](Collective& all, int rank, const Exchange& exchange) {
    const Words mine = exchange.own(rank);
    Words expected;
    for (int from = 0; from < exchange.ranks; ++from)
      append(expected, from, 0, exchange.between(from, 0), exchange.salt);
    const Counts counts = exchange.in(0);
    Words result(expected.size(), 7);
    const Outcome outcome =
        exchange.differ ? all.allgather(mine, result, counts) : all.allgather(mine, result);
    const bool is_right = outcome == Outcome::ok && result == expected;
    return twice(
               exchange.differ ? all.make_allgather(mine, result, counts) : all.make_allgather(mine, result),
               result) &&
           is_right && result == expected;
  });
}

TEST_P(CollectiveBlocks, are_exchanged_between_all) {
  everywhere([](Collective& all, int rank, const Exchange& exchange) {
    const Words mine = exchange.sent(rank);
    const Words expected = exchange.got(rank);
    const Counts out = exchange.out(rank);
    const Counts in = exchange.in(rank);
    Words result(expected.size(), 7);
    const Outcome outcome =
        exchange.differ ? all.alltoall(mine, out, result, in) : all.alltoall(mine, result);
    const bool is_right = outcome == Outcome::ok && result == expected;
    return twice(exchange.differ ? all.make_alltoall(mine, out, result, in) : all.make_alltoall(mine, result),
                 result) &&
           is_right && result == expected;
  });
}

TEST_P(CollectiveBlocks, are_reduced_each_for_one_rank) {
  everywhere([](Collective& all, int rank, const Exchange& exchange) {
    // The blocks of a rank's result are as long on all ranks.
    Counts counts;
    for (int to = 0; to < exchange.ranks; ++to) counts.push_back(exchange.between(0, to));
    const std::size_t total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    const Words mine = test::elements(rank, total, exchange.salt);
    const Words sums = test::sums(exchange.ranks, total, exchange.salt);
    const auto begin = std::accumulate(counts.begin(), counts.begin() + rank, std::ptrdiff_t{0});
    const auto length = counts[static_cast<std::size_t>(rank)];
    const Words expected(sums.begin() + begin, sums.begin() + begin + static_cast<std::ptrdiff_t>(length));
    Words result(length, 7);
    const operators::Sum sum;
    const Outcome outcome = exchange.differ ? all.reduce_scatter(mine, result, counts, sum)
                                            : all.reduce_scatter(mine, result, sum);
    const bool is_right = outcome == Outcome::ok && result == expected;
    return twice(exchange.differ ? all.make_reduce_scatter(mine, result, counts, sum)
                                 : all.make_reduce_scatter(mine, result, sum),
                 result) &&
           is_right && result == expected;
  });
}

/// Two-by-two matrices of small numbers: their product is associative and not commutative.
struct Matrix {
  std::uint32_t cells[4] = {1, 0, 0, 1};
  friend bool operator==(const Matrix&, const Matrix&) = default;
};
struct Times {
  Matrix operator()(const Matrix& a, const Matrix& b) const noexcept {
    return {{a.cells[0] * b.cells[0] + a.cells[1] * b.cells[2],
             a.cells[0] * b.cells[1] + a.cells[1] * b.cells[3],
             a.cells[2] * b.cells[0] + a.cells[3] * b.cells[2],
             a.cells[2] * b.cells[1] + a.cells[3] * b.cells[3]}};
  }
};

TEST_P(CollectiveBlocks, prefixes_combine_elements_in_the_order_of_ranks) {
  BlockJob job(GetParam());
  std::atomic<int> wrong{0};
  job.run([&](Collective& all, int rank) {
    for (const std::size_t count : counts(job)) {
      const auto matrix = [](int of, std::size_t place) {
        const auto number = static_cast<std::uint32_t>(of) + static_cast<std::uint32_t>(place);
        return Matrix{{number + 1, number * 3 + 1, 2 * number, 5}};
      };
      std::vector<Matrix> mine(count);
      std::vector<Matrix> upto(count);
      std::vector<Matrix> before(count);
      for (std::size_t place = 0; place < count; ++place) {
        mine[place] = upto[place] = matrix(rank, place);
        for (int of = rank - 1; of >= 0; --of) upto[place] = Times()(matrix(of, place), upto[place]);
        for (int of = rank - 1; of >= 0; --of) before[place] = Times()(matrix(of, place), before[place]);
      }
      std::vector<Matrix> result(count);
      if (all.inclusive_scan(mine, result, Times()) != Outcome::ok || result != upto) ++wrong;
      result.assign(count, {});
      if (all.exclusive_scan(mine, result, Times()) != Outcome::ok || result != before) ++wrong;
      CollectiveOperation inclusive = all.make_inclusive_scan(mine, result, Times());
      for (int time = 0; time < 2; ++time) {
        result.assign(count, {});
        inclusive.start();
        if (inclusive.wait() != Outcome::ok || result != upto) ++wrong;
      }
      // In place.
      if (all.exclusive_scan(mine, mine, Times()) != Outcome::ok || (rank != 0 && mine != before)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(CollectiveBlocks, lie_in_place) {
  everywhere([](Collective& all, int rank, const Exchange& exchange) {
    if (exchange.differ) return true;
    const auto block = [&](Words& words) {
      return std::span(words).subspan(static_cast<std::size_t>(rank) * exchange.count, exchange.count);
    };
    Words everything;
    for (int from = 0; from < exchange.ranks; ++from)
      append(everything, from, 0, exchange.count, exchange.salt);
    Words result(everything.size(), 7);
    std::ranges::copy(exchange.own(rank), block(result).begin());
    bool is_right = all.allgather(block(result), result) == Outcome::ok && result == everything;

    Words exchanged = exchange.sent(rank);
    is_right =
        all.alltoall(exchanged, exchanged) == Outcome::ok && exchanged == exchange.got(rank) && is_right;

    const std::size_t total = exchange.count * static_cast<std::size_t>(exchange.ranks);
    const Words sums = test::sums(exchange.ranks, total, exchange.salt);
    const auto begin = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rank) * exchange.count);
    const auto end = begin + static_cast<std::ptrdiff_t>(exchange.count);
    Words reduced = test::elements(rank, total, exchange.salt);
    is_right = all.reduce_scatter(reduced, std::span(reduced).first(exchange.count), operators::Sum()) ==
                   Outcome::ok &&
               std::equal(sums.begin() + begin, sums.begin() + end, reduced.begin()) && is_right;
    reduced = test::elements(rank, total, exchange.salt);
    is_right = all.reduce_scatter(reduced, block(reduced), operators::Sum()) == Outcome::ok &&
               std::equal(sums.begin() + begin, sums.begin() + end, reduced.begin() + begin) && is_right;
    return is_right;
  });
}

TEST_P(CollectiveBlocks, go_to_neighbors) {
  everywhere([](Collective& all, int rank, const Exchange& exchange) {
    const int left = (rank + exchange.ranks - 1) % exchange.ranks;
    const int right = (rank + 1) % exchange.ranks;
    // A ring, whose two neighbours are the same rank, or oneself, where there are few ranks.
    const std::vector<int> neighbors{left, right};
    const std::vector<int> to{right, left};
    const std::size_t count = exchange.count;
    Words mine;
    append(mine, rank, 0, count, exchange.salt);
    append(mine, rank, 1, count, exchange.salt);
    Words expected;
    append(expected, left, 0, count, exchange.salt);
    append(expected, right, 1, count, exchange.salt);
    Words result(2 * count, 7);
    bool is_right = false;
    if (exchange.differ) {
      // One neighbour gets an element more.
      const Counts counts{count + 1, count};
      mine.clear();
      append(mine, rank, 0, count + 1, exchange.salt);
      append(mine, rank, 1, count, exchange.salt);
      expected.clear();
      append(expected, left, 0, count + 1, exchange.salt);
      append(expected, right, 1, count, exchange.salt);
      result.assign(2 * count + 1, 7);
      is_right = all.neighbor_alltoall(mine, counts, result, counts, neighbors, to) == Outcome::ok &&
                 result == expected;
      is_right = twice(all.make_neighbor_alltoall(mine, counts, result, counts, neighbors, to), result) &&
                 result == expected && is_right;
      return is_right;
    }
    is_right = all.neighbor_alltoall(mine, result, neighbors, to) == Outcome::ok && result == expected;
    is_right = twice(all.make_neighbor_alltoall(mine, result, neighbors, to), result) && result == expected &&
               is_right;
    const std::span<const std::uint64_t> one = std::span(mine).first(count);
    expected.clear();
    append(expected, left, 0, count, exchange.salt);
    append(expected, right, 0, count, exchange.salt);
    return all.neighbor_allgather(one, result, neighbors, to) == Outcome::ok && result == expected &&
           is_right;
  });
}

INSTANTIATE_TEST_SUITE_P(ranks, CollectiveBlocks, ::testing::Values(1, 2, 3, 4, 7, 9, 19),
                         ::testing::PrintToStringParamName());

TEST(CollectiveBlocksRefuse, buffers_that_are_no_blocks) {
  BlockJob job(1);
  Collective& all = job.at(0);
  Words three(3);
  Words four(4);
  const Counts counts{2};
  const Counts two{1, 2};
  using test::error_of;
  EXPECT_EQ(error_of([&] { static_cast<void>(all.gather(three, four, 0)); }),
            "gather: this rank's block has 3 elements, but is to have 4");
  EXPECT_EQ(error_of([&] { static_cast<void>(all.gather(three, three, 1)); }),
            "gather: root 1 is not a rank of this Collective (0 to 0)");
  EXPECT_EQ(error_of([&] { static_cast<void>(all.allgather(three, four, counts)); }),
            "allgather: the result has 4 elements, but the counts of its blocks sum up to 2");
  const Counts wrapping{SIZE_MAX};
  EXPECT_EQ(error_of([&] { static_cast<void>(all.allgather(three, four, wrapping)); }),
            "allgather: the result has 4 elements, but the counts of its blocks sum up to more");
  EXPECT_EQ(error_of([&] { static_cast<void>(all.allgather(three, four, Counts{})); }),
            "allgather: 0 counts are given for the blocks of 1 ranks");
  EXPECT_EQ(error_of([&] { static_cast<void>(all.alltoall(three, two, four, two)); }),
            "alltoall: 2 counts are given for the blocks of 1 ranks");
  EXPECT_EQ(error_of([&] {
              static_cast<void>(all.allgather(std::span(four).first(2), std::span(four).subspan(1, 2)));
            }),
            "allgather: the buffers overlap; they must be apart");
  const std::vector<int> nobody{3};
  EXPECT_EQ(error_of([&] { static_cast<void>(all.neighbor_allgather(three, three, nobody, nobody)); }),
            "neighbor_allgather: neighbor 3 is not a rank of this Collective (0 to 0)");
}

TEST(CollectiveBlocksRefuse, lengths_that_differ_between_ranks) {
  BlockJob job(2);
  std::atomic<int> told{0};
  job.run([&](Collective& all, int rank) {
    const Words mine(rank == 0 ? 4 : 5);
    Words result(2 * mine.size());
    const std::string error = test::error_of([&] { static_cast<void>(all.allgather(mine, result)); });
    if (error.find("allgather: rank " + std::to_string(1 - rank) + " sent ") == 0) ++told;
  });
  EXPECT_EQ(told, 2);
}

TEST(CollectiveBlocksRefuse, another_collective_on_another_rank) {
  BlockJob job(2);
  std::atomic<int> told{0};
  job.run([&](Collective& all, int rank) {
    const Words mine(2);
    Words result(rank == 0 ? 4 : 2);
    const std::string error = test::error_of(
        [&] { static_cast<void>(rank == 0 ? all.allgather(mine, result) : all.alltoall(mine, result)); });
    if (error.find("ranks have called different collectives: ") == 0 &&
        error.find("alltoall") != error.npos && error.find("allgather") != error.npos)
      ++told;
  });
  EXPECT_EQ(told, 2);
}

}  // namespace
}  // namespace weft
