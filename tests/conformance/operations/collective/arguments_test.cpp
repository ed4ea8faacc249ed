// Collectives by arguments that are known at run time only; blocks that lie anywhere; split().
#include "conformance/operations/collective/every_kind.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace weft {
namespace {

using test::element;
using test::error_of;
using ArgumentsJob = test::CollectiveJob;
using Words = std::vector<std::uint64_t>;

/// Blocks of different lengths, the last one first, with a gap behind each.
struct Layout {
  explicit Layout(int ranks) {
    std::size_t end = 0;
    counts.resize(static_cast<std::size_t>(ranks));
    displacements.resize(counts.size());
    for (std::size_t rank = counts.size(); rank-- > 0;) {
      counts[rank] = rank * 3 % 5;
      displacements[rank] = end;
      end += counts[rank] + 2;
    }
    length = end;
  }
  /// Expects the blocks of all ranks where they belong, and nothing in the gaps.
  [[nodiscard]] bool has_all(const Words& words, std::uint64_t salt) const {
    Words expected(length);
    for (std::size_t rank = 0; rank < counts.size(); ++rank)
      for (std::size_t index = 0; index < counts[rank]; ++index)
        expected[displacements[rank] + index] = element(static_cast<int>(rank), index, salt);
    return words == expected;
  }
  std::vector<std::size_t> counts;
  std::vector<std::size_t> displacements;
  std::size_t length = 0;
};

class CollectiveArgumentsOf : public ::testing::TestWithParam<int> {};

TEST_P(CollectiveArgumentsOf, run_time_put_blocks_where_they_belong) {
  ArgumentsJob job(GetParam());
  const Layout layout(job.size());
  std::atomic<int> wrong{0};
  job.run([&](Collective& all, int rank) {
    const Words mine = test::elements(rank, layout.counts[static_cast<std::size_t>(rank)], 5);
    const int root = job.size() - 1;
    Words gathered(layout.length);
    CollectiveArguments arguments{.kind = CollectiveKind::allgather,
                                  .from = mine.data(),
                                  .to = gathered.data(),
                                  .element_size = 8,
                                  .count = mine.size(),
                                  .to_count = gathered.size(),
                                  .has_counts = true,
                                  .to_counts = layout.counts,
                                  .to_displacements = layout.displacements};
    if (all.run(arguments) != Outcome::ok || !layout.has_all(gathered, 5)) ++wrong;

    std::ranges::fill(gathered, 0);
    arguments.kind = CollectiveKind::gather;
    arguments.root = root;
    CollectiveOperation operation = all.make(arguments);
    operation.start();
    if (operation.wait() != Outcome::ok || (rank == root && !layout.has_all(gathered, 5))) ++wrong;

    Words everything(layout.length);
    for (int peer = 0; peer < job.size(); ++peer)
      for (std::size_t index = 0; index < layout.counts[static_cast<std::size_t>(peer)]; ++index)
        everything[layout.displacements[static_cast<std::size_t>(peer)] + index] = element(peer, index, 6);
    Words part(mine.size());
    if (all.run(CollectiveArguments{.kind = CollectiveKind::scatter,
                                    .root = root,
                                    .from = everything.data(),
                                    .to = part.data(),
                                    .element_size = 8,
                                    .count = everything.size(),
                                    .to_count = part.size(),
                                    .has_counts = true,
                                    .from_counts = layout.counts,
                                    .from_displacements = layout.displacements}) != Outcome::ok ||
        part != test::elements(rank, part.size(), 6))
      ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(CollectiveArgumentsOf, run_time_exchange_blocks_with_gaps) {
  ArgumentsJob job(GetParam());
  std::atomic<int> wrong{0};
  job.run([&](Collective& all, int rank) {
    // Rank a sends a + b words to rank b, from behind a gap of b words, and they arrive behind one of a.
    std::vector<std::size_t> counts;
    std::vector<std::size_t> displacements;
    std::size_t end = 0;
    for (int peer = 0; peer < job.size(); ++peer) {
      counts.push_back(static_cast<std::size_t>(rank + peer));
      displacements.push_back(end + static_cast<std::size_t>(peer));
      end = displacements.back() + counts.back();
    }
    Words out(end, 99);
    Words in(end, 98);
    Words expected(end, 98);
    for (int peer = 0; peer < job.size(); ++peer)
      for (std::size_t index = 0; index < counts[static_cast<std::size_t>(peer)]; ++index) {
        const std::size_t position = displacements[static_cast<std::size_t>(peer)] + index;
        out[position] = element(rank, index, static_cast<std::uint64_t>(peer));
        expected[position] = element(peer, index, static_cast<std::uint64_t>(rank));
      }
    const CollectiveArguments arguments{.kind = CollectiveKind::alltoall,
                                        .from = out.data(),
                                        .to = in.data(),
                                        .element_size = 8,
                                        .count = end,
                                        .to_count = end,
                                        .has_counts = true,
                                        .from_counts = counts,
                                        .to_counts = counts,
                                        .from_displacements = displacements,
                                        .to_displacements = displacements};
    if (all.run(arguments) != Outcome::ok || in != expected) ++wrong;
    std::ranges::fill(in, 98);
    all.post(all.make(arguments));
    if (all.wait_posted() != Outcome::ok || in != expected) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(CollectiveArgumentsOf, run_time_carry_reductions_and_broadcasts) {
  ArgumentsJob job(GetParam());
  std::atomic<int> wrong{0};
  job.run([&](Collective& all, int rank) {
    for (const std::size_t count : {std::size_t{3}, std::size_t{5000}}) {
      const std::vector<test::Matrix> mine = test::matrices(rank, count);
      std::vector<test::Matrix> result(count);
      if (all.run(CollectiveArguments{.kind = CollectiveKind::allreduce,
                                      .from = mine.data(),
                                      .to = result.data(),
                                      .count = count,
                                      .to_count = count,
                                      .reduction = &test::Matrix::product()}) != Outcome::ok ||
          result != test::products(0, job.size() - 1, count))
        ++wrong;
      Words values = rank == 0 ? test::elements(0, count, 1) : Words(count);
      if (all.run(CollectiveArguments{.kind = CollectiveKind::broadcast,
                                      .to = values.data(),
                                      .element_size = 8,
                                      .to_count = count}) != Outcome::ok ||
          values != test::elements(0, count, 1))
        ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(CollectiveArgumentsOf, run_time_split_ranks_by_colour_and_key) {
  ArgumentsJob job(GetParam());
  std::atomic<int> wrong{0};
  job.run([&](Collective& all, int rank) {
    Team part;
    // The odd ranks, the last one first; the even ones in the order of ranks; rank 2 nowhere.
    const int colour = rank == 2 ? -1 : rank % 2;
    if (all.split(colour, rank % 2 == 0 ? 0 : -rank, part) != Outcome::ok) ++wrong;
    std::vector<int> expected;
    for (int other = 0; other < job.size(); ++other)
      if (other != 2 && other % 2 == rank % 2) expected.push_back(other);
    if (rank % 2 == 1) std::ranges::reverse(expected);
    if (rank == 2) expected.clear();
    if (part.size() != static_cast<int>(expected.size())) ++wrong;
    for (int member = 0; member < part.size(); ++member)
      if (part.job_rank(member) != expected[static_cast<std::size_t>(member)]) ++wrong;
    if (rank == 2 ? part.rank() != -1 : part.job_rank(part.rank()) != rank) ++wrong;
    if (rank == 2) return;
    Collective half(job.ranks().runtime(rank), job.ranks().endpoint(rank), part, {.key = 9});
    int sum = 0;
    if (half.allreduce(1, sum, operators::Sum{}) != Outcome::ok || sum != part.size()) ++wrong;
    if (half.barrier() != Outcome::ok) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Ranks, CollectiveArgumentsOf, ::testing::Values(1, 2, 3, 5, 8),
                         ::testing::PrintToStringParamName());

TEST(CollectiveArguments, that_are_wrong_are_refused) {
  ArgumentsJob job(1);
  Collective& all = job.at(0);
  const auto refused = [&](const CollectiveArguments& arguments) {
    return error_of([&] { static_cast<void>(all.run(arguments)); });
  };
  Words words(4);
  EXPECT_EQ(refused({.kind = static_cast<CollectiveKind>(77)}),
            "CollectiveArguments: there is no collective 77");
  EXPECT_EQ(refused({.kind = CollectiveKind::allreduce, .from = words.data(), .count = 4}),
            "allreduce: it has no reduction");
  EXPECT_EQ(refused({.kind = CollectiveKind::allgather, .count = 4}),
            "CollectiveArguments: from is null, but has 4 elements");
  EXPECT_EQ(refused({.kind = CollectiveKind::allgather, .element_size = 0}),
            "CollectiveArguments: element_size 0 is out of range: 1 to 1073741824 bytes");
  EXPECT_EQ(refused({.kind = CollectiveKind::broadcast,
                     .to = words.data(),
                     .element_size = 8,
                     .to_count = ~std::size_t{0}}),
            "CollectiveArguments: to has 18446744073709551615 elements of 8 bytes, more than any memory");
  const std::size_t counts[] = {2};
  const std::size_t displacements[] = {3};
  CollectiveArguments arguments{.kind = CollectiveKind::allgather,
                                .from = words.data(),
                                .to = words.data(),
                                .element_size = 8,
                                .count = 2,
                                .to_count = 4,
                                .has_counts = true,
                                .to_counts = counts,
                                .to_displacements = displacements};
  EXPECT_EQ(refused(arguments), "allgather: the result has 4 elements, but block 0 is to have 2 from 3 on");
  const std::size_t two[] = {0, 1};
  arguments.to_displacements = two;
  EXPECT_EQ(refused(arguments), "allgather: 2 displacements are given for 1 blocks of the result");
}

}  // namespace
}  // namespace weft
