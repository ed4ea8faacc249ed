// Reductions whose element type is known at run time, and the ids that collectives use.
#include "conformance/operations/collective/every_kind.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace weft {
namespace {

using test::CollectiveJob;
using test::element;
using test::elements;
using test::sums;

/// Elements of `width` 64-bit numbers each, added; counts its calls.
struct Wide {
  std::size_t width = 1;
  std::atomic<int> calls{0};

  static void add(void* to, const void* from, std::size_t count, void* context) {
    Wide& wide = *static_cast<Wide*>(context);
    ++wide.calls;
    for (std::size_t index = 0; index < count * wide.width; ++index) {
      std::uint64_t a = 0;
      std::uint64_t b = 0;
      std::memcpy(&a, static_cast<std::byte*>(to) + index * sizeof a, sizeof a);
      std::memcpy(&b, static_cast<const std::byte*>(from) + index * sizeof b, sizeof b);
      a += b;
      std::memcpy(static_cast<std::byte*>(to) + index * sizeof a, &a, sizeof a);
    }
  }
  [[nodiscard]] AnyReduction reduction() { return {width * sizeof(std::uint64_t), &Wide::add, this}; }
};

struct Shape {
  int ranks;
  std::size_t width;
  std::size_t count;
};
class AnyReductions : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(shapes, AnyReductions,
                         testing::Values(Shape{1, 1, 10}, Shape{2, 1, 1}, Shape{3, 3, 7}, Shape{4, 1, 3000},
                                         Shape{3, 3, 20'000}, Shape{4, 512, 300}, Shape{2, 1250, 40},
                                         Shape{3, 1250, 0}),
                         [](const auto& shape) {
                           return std::to_string(shape.param.ranks) + "_ranks_" +
                                  std::to_string(shape.param.count) + "_of_" +
                                  std::to_string(shape.param.width);
                         });

TEST_P(AnyReductions, are_what_the_typed_ones_are) {
  const auto [ranks, width, count] = GetParam();
  CollectiveJob job(ranks);
  const auto expected = sums(ranks, width * count, 0);
  std::atomic<int> calls{0};  // of all ranks: one that leads no host has nothing to reduce
  job.run([&](Collective& collective, int rank) {
    Wide wide;
    wide.width = width;
    const AnyReduction reduction = wide.reduction();
    const auto mine = elements(rank, width * count, 0);
    std::vector<std::uint64_t> all(width * count);
    EXPECT_EQ(collective.allreduce(mine, all, reduction), Outcome::ok);
    EXPECT_EQ(all, expected);
    std::vector<std::uint64_t> in_place = mine;
    EXPECT_EQ(collective.allreduce(in_place, in_place, reduction), Outcome::ok);
    EXPECT_EQ(in_place, expected);
    // As bytes, to one rank.
    std::vector<std::uint64_t> at_root(width * count);
    EXPECT_EQ(collective.reduce(bytes_of(mine), mutable_bytes_of(at_root), reduction, ranks - 1),
              Outcome::ok);
    if (rank == ranks - 1) {
      EXPECT_EQ(at_root, expected);
    }
    std::vector<std::uint64_t> later(width * count);
    CollectiveOperation operation = collective.make_allreduce(mine, later, reduction);
    for (int round = 0; round < 2; ++round) {
      operation.start();
      EXPECT_EQ(operation.wait(), Outcome::ok);
      EXPECT_EQ(later, expected);
    }
    CollectiveOperation to_root = collective.make_reduce(mine, later, reduction, 0);
    to_root.start();
    EXPECT_EQ(to_root.wait(), Outcome::ok);
    calls += static_cast<int>(wide.calls.load());
  });
  if (ranks > 1 && count != 0) {
    EXPECT_GT(calls.load(), 0);
  }
}

/// Of the same buffers, by the same function: a plan that was kept for the one is none for the other.
TEST(AnyReduction, that_is_not_commutative_is_none_that_was_before) {
  constexpr std::size_t kCount = 3000;
  test::Ranks<Endpoint> ranks(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      // Exposes nothing: all messages are matched.
      Collective all(ranks.runtime(rank), ranks.endpoint(rank), {.key = 300});
      AnyReduction product = test::Matrix::product();
      const std::vector<test::Matrix> mine = test::matrices(rank, kCount);
      std::vector<test::Matrix> result(kCount);
      product.is_commutative = true;  // which it is not
      EXPECT_EQ(all.allreduce(mine, result, product), Outcome::ok);
      product.is_commutative = false;
      EXPECT_EQ(all.allreduce(mine, result, product), Outcome::ok);
      EXPECT_EQ(result, test::products(0, 2, kCount));
      EXPECT_EQ(all.barrier(), Outcome::ok);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(AnyReduction, is_refused_where_it_makes_no_sense) {
  CollectiveJob job(1);
  std::vector<std::byte> buffer(20);
  Wide wide;
  const auto error = [&](const AnyReduction& reduction) {
    return test::error_of([&] { static_cast<void>(job.at(0).allreduce(buffer, buffer, reduction)); });
  };
  EXPECT_NE(error({0, &Wide::add, &wide}).find("element_size 0"), std::string::npos);
  EXPECT_NE(error({8, nullptr, nullptr}).find("apply"), std::string::npos);
  EXPECT_NE(error({8, &Wide::add, &wide}).find("20 bytes"), std::string::npos);
}

TEST(CollectiveIds, are_chosen_or_documented) {
  test::Ranks<Endpoint> ranks(1);
  Counter taken;
  ranks.runtime(0).expose(taken, {.id = collective_ids + 9});
  EXPECT_NE(test::error_of([&] {
              Collective(ranks.runtime(0), ranks.endpoint(0), {.key = 9});
            }).find(std::to_string(collective_ids + 9)),
            std::string::npos);
  Collective collective(ranks.runtime(0), ranks.endpoint(0), {.key = 9, .handle = 17});
  EXPECT_EQ(collective.barrier(), Outcome::ok);
  Counter other;
  EXPECT_NE(test::error_of([&] { ranks.runtime(0).expose(other, {.id = 17}); }).find("17"),
            std::string::npos);
}

}  // namespace
}  // namespace weft
