// Collectives: every number of ranks, sizes around the borders of the algorithms, against a serial
// computation.
#include "support/collectives.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::element;
using test::elements;
using test::error_of;
using test::Ranks;
using test::sums;
using Job = test::CollectiveJob;

/// Numbers of elements of 8 bytes: nothing, one, 1 KiB, the border of the short algorithms, several segments.
std::vector<std::size_t> counts(Job& job) {
  if (job.is_sim()) return {0, 1, 128, 4096, 4097, 40'000};
  return {0, 1, 128, 4095, 4096, 4097, 40'001, 131'072};
}

class Collectives : public ::testing::TestWithParam<int> {};

/// Told apart from others of its type by its value alone.
struct SumAndMore {
  std::uint64_t more;
  std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const noexcept { return a + b + more; }
};

TEST_P(Collectives, broadcast_reduce_and_allreduce_agree_with_a_serial_computation) {
  Job job(GetParam());
  const auto sizes = counts(job);
  std::atomic<int> wrong{0};
  job.run([&](Collective& collective, int rank) {
    std::uint64_t salt = 0;
    for (const std::size_t count : sizes)
      for (const int root : {0, job.size() - 1, job.size() / 2}) {
        ++salt;
        const auto mine = elements(rank, count, salt);
        const auto expected = sums(job.size(), count, salt);

        std::vector<std::uint64_t> values = rank == root ? mine : std::vector<std::uint64_t>(count);
        if (collective.broadcast(values, root) != Outcome::ok || values != elements(root, count, salt))
          ++wrong;

        std::vector<std::uint64_t> result(rank == root ? count : 0, 1);
        if (collective.reduce(mine, result, operators::Sum{}, root) != Outcome::ok) ++wrong;
        if (rank == root && result != expected) ++wrong;

        std::vector<std::uint64_t> all(count, 1);
        if (collective.allreduce(mine, all, operators::Sum{}) != Outcome::ok || all != expected) ++wrong;

        std::vector<std::uint64_t> in_place = mine;
        if (collective.allreduce(in_place, in_place, operators::Sum{}) != Outcome::ok || in_place != expected)
          ++wrong;
      }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(Collectives, one_after_another_over_the_same_buffers_differ_by_length_root_and_operator) {
  Job job(GetParam());
  const auto ranks = static_cast<std::uint64_t>(job.size());
  std::atomic<int> wrong{0};
  job.run([&](Collective& collective, int rank) {
    constexpr std::size_t kMost = 20'000;
    const std::vector<std::uint64_t> mine(kMost, 1);
    std::vector<std::uint64_t> result(kMost);
    const auto expected_of = [&](std::size_t count, std::uint64_t more) {
      std::vector<std::uint64_t> expected(kMost);
      std::fill_n(expected.begin(), count, ranks + more * (ranks - 1));
      return expected;
    };
    const auto reduce = [&](std::size_t count, std::uint64_t more, int root) {
      std::ranges::fill(result, 0);
      const Outcome outcome = collective.reduce(std::span(mine).first(count), std::span(result).first(count),
                                                SumAndMore{more}, root);
      if (outcome != Outcome::ok || (rank == root && result != expected_of(count, more))) ++wrong;
    };
    for (const std::size_t count : {std::size_t{5}, std::size_t{3}, std::size_t{8}, kMost, kMost / 2})
      for (const std::uint64_t more : {0, 7}) {
        std::ranges::fill(result, 0);
        if (collective.allreduce(std::span(mine).first(count), std::span(result).first(count),
                                 SumAndMore{more}) != Outcome::ok ||
            result != expected_of(count, more))
          ++wrong;
        for (const int root : {0, job.size() - 1}) reduce(count, more, root);
      }
    // The graph of a longer one is kept for calls of the same: these differ by operator, length and root
    // alone.
    reduce(kMost, 0, 0);
    reduce(kMost, 7, 0);
    reduce(kMost / 2, 7, 0);
    reduce(kMost / 2, 7, job.size() - 1);
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(Collectives, nonblocking_ones_overlap_and_start_again) {
  Job job(GetParam());
  std::atomic<int> wrong{0};
  const std::size_t large = job.is_sim() ? 6000 : 40'000;
  job.run([&](Collective& collective, int rank) {
    std::vector<std::uint64_t> a(large);
    std::vector<std::uint64_t> a_sum(large);
    std::vector<std::uint64_t> b(3);
    std::vector<std::uint64_t> c(5);
    std::vector<std::uint64_t> c_sum(5);
    CollectiveOperation all = collective.make_allreduce(a, a_sum, operators::Sum{});
    CollectiveOperation cast = collective.make_broadcast(b, 0);
    CollectiveOperation to_last = collective.make_reduce(c, c_sum, operators::Sum{}, job.size() - 1);
    CollectiveOperation meet = collective.make_barrier();
    for (std::uint64_t run = 0; run < 10; ++run) {
      // Into the memory that the operations know.
      const auto set = [&](std::vector<std::uint64_t>& values, std::uint64_t salt) {
        std::ranges::copy(elements(rank, values.size(), salt), values.begin());
      };
      set(a, run);
      set(b, run);
      set(c, run + 100);
      all.start();
      cast.start();
      to_last.start();
      meet.start();
      // One that waits, in the middle of them.
      std::uint64_t one = 1;
      if (collective.allreduce(std::span{&one, 1}, std::span{&one, 1}, operators::Sum{}) != Outcome::ok)
        ++wrong;
      if (one != static_cast<std::uint64_t>(job.size())) ++wrong;
      for (CollectiveOperation* operation : {&meet, &cast, &all, &to_last})
        if (operation->wait() != Outcome::ok) ++wrong;
      if (a_sum != sums(job.size(), large, run) || b != elements(0, 3, run)) ++wrong;
      if (rank == job.size() - 1 && c_sum != sums(job.size(), 5, run + 100)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(Collectives, no_rank_leaves_a_barrier_before_all_have_come) {
  Job job(GetParam());
  std::atomic<int> come{0};
  std::atomic<int> wrong{0};
  job.run([&](Collective& collective, int) {
    for (int round = 1; round <= 50; ++round) {
      come.fetch_add(1);
      if (collective.barrier() != Outcome::ok || come.load() < round * job.size()) ++wrong;
      if (collective.barrier() != Outcome::ok) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8));

TEST(Collective, knows_operators_and_takes_functions_of_the_program) {
  Job job(3);
  std::atomic<int> wrong{0};
  job.run([&](Collective& collective, int rank) {
    const auto reduced = [&](auto value, const auto& op) {
      auto result = value;
      if (collective.allreduce(std::span{&value, 1}, std::span{&result, 1}, op) != Outcome::ok) ++wrong;
      return result;
    };
    const int number = rank + 2;
    if (reduced(number, operators::Sum{}) != 9 || reduced(number, operators::Product{}) != 24) ++wrong;
    if (reduced(number, operators::Min{}) != 2 || reduced(number, operators::Max{}) != 4) ++wrong;
    if (reduced(0.5 * number, operators::Sum{}) != 4.5 ||
        reduced(-0.5F * static_cast<float>(number), operators::Max{}) != -1.0F)
      ++wrong;
    const auto bits = static_cast<std::uint16_t>(0b1000 | 1 << rank);
    if (reduced(bits, operators::BitAnd{}) != 0b1000 || reduced(bits, operators::BitOr{}) != 0b1111 ||
        reduced(bits, operators::BitXor{}) != 0b1111)
      ++wrong;

    struct Place {
      double value;
      int rank;
    };
    const double weight = 10;
    const auto farthest = [weight](const Place& a, const Place& b) {
      return weight * a.value > weight * b.value ? a : b;
    };
    const Place place = reduced(Place{rank == 1 ? 7.0 : 1.0, rank}, farthest);
    if (place.rank != 1 || place.value != 7) ++wrong;

    std::byte byte{static_cast<unsigned char>(rank)};
    if (collective.broadcast(std::span{&byte, 1}, 2) != Outcome::ok || byte != std::byte{2}) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Collective, works_with_an_endpoint_of_one_thread) {
  Ranks<SerialEndpoint> ranks(2);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      Collective collective(ranks.runtime(rank), ranks.endpoint(rank), {.key = 7});
      const auto mine = elements(rank, 10'000, 1);
      std::vector<std::uint64_t> result(10'000);
      for (int round = 0; round < 5; ++round)
        if (collective.allreduce(mine, result, operators::Sum{}) != Outcome::ok ||
            result != sums(2, 10'000, 1))
          ++wrong;
      if (collective.barrier() != Outcome::ok) ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Collective, meets_no_message_of_the_program) {
  Job job(2);
  std::atomic<int> wrong{0};
  job.run([&](Collective& collective, int rank) {
    Endpoint& endpoint = job.ranks().endpoint(rank);
    std::uint64_t out = 77;
    std::uint64_t in = 0;
    Counter got;
    while (endpoint
               .post_receive(1 - rank, 0, std::as_writable_bytes(std::span{&in, 1}),
                             {.completion = &got, .policy = MatchingPolicy::any})
               .is_retry())
      endpoint.progress();
    std::uint64_t value = 1;
    if (collective.allreduce(std::span{&value, 1}, std::span{&value, 1}, operators::Sum{}) != Outcome::ok ||
        value != 2)
      ++wrong;
    if (got.value() != 0) ++wrong;
    if (collective.barrier() != Outcome::ok) ++wrong;  // nobody sends before all have looked
    static_cast<void>(endpoint.send(1 - rank, 0, bytes_of(out), {.policy = MatchingPolicy::any}));
    endpoint.wait(got, 1);
    if (in != 77) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Collective, may_be_a_node_of_a_graph) {
  Job job(3);
  std::atomic<int> wrong{0};
  job.run([&](Collective& collective, int rank) {
    std::uint64_t mine = 0;
    std::uint64_t sum = 0;
    std::uint64_t twice = 0;
    CollectiveOperation add =
        collective.make_allreduce(std::span{&mine, 1}, std::span{&sum, 1}, operators::Sum{});
    CollectiveOperation again =
        collective.make_allreduce(std::span{&sum, 1}, std::span{&twice, 1}, operators::Sum{});
    Graph graph;
    const auto set = graph.add_function([&] { mine = static_cast<std::uint64_t>(rank) + 1; });
    const auto first = graph.add_graph(add.graph());
    const auto second = graph.add_graph(again.graph());
    graph.order(set, first);
    graph.order(first, second);
    for (int run = 0; run < 5; ++run) {
      graph.start();
      if (job.ranks().endpoint(rank).wait(graph) != Outcome::ok || sum != 6 || twice != 18) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(CollectiveMisuse, is_refused_with_a_clear_message) {
  Job job(2);
  Collective& collective = job.at(0);
  std::vector<int> four(4);
  std::vector<int> three(3);
  EXPECT_EQ(error_of([&] { static_cast<void>(collective.broadcast(four, 2)); }),
            "broadcast: root 2 is not a rank of this Collective (0 to 1)");
  EXPECT_EQ(error_of([&] { static_cast<void>(collective.make_reduce(four, four, operators::Sum{}, -1)); }),
            "reduce: root -1 is not a rank of this Collective (0 to 1)");
  EXPECT_EQ(
      error_of([&] { static_cast<void>(collective.allreduce(four, three, operators::Sum{})); }),
      "allreduce: the result has room for 3 elements, but 4 are reduced; both buffers have the same length");
  EXPECT_EQ(error_of([&] {
              static_cast<void>(
                  collective.allreduce(std::span{four}.first(3), std::span{four}.last(3), operators::Sum{}));
            }),
            "allreduce: the buffers overlap in part; they must be the same or apart");
  Runtime& runtime = job.ranks().runtime(0);
  EXPECT_EQ(error_of([&] { Collective(runtime, job.ranks().endpoint(0), {.key = kCollectiveKeys}); }),
            "Collective: key 16777216 is out of range: 0 to 16777215");
  EXPECT_NE(error_of([&] { Collective(runtime, job.ranks().endpoint(0)); }).find("255"), std::string::npos)
      << "the id is in use";
}

TEST(CollectiveMisuse, lengths_that_differ_between_ranks_are_reported_by_both) {
  Job job(2);
  std::vector<std::string> errors(2);
  job.run([&](Collective& collective, int rank) {
    std::vector<std::uint64_t> values(rank == 0 ? 2 : 3);
    std::vector<std::uint64_t> result(values.size());
    errors[static_cast<std::size_t>(rank)] =
        error_of([&] { static_cast<void>(collective.allreduce(values, result, operators::Sum{})); });
    CollectiveOperation operation = collective.make_allreduce(values, result, operators::Sum{});
    operation.start();
    test::expect_names(error_of([&] { static_cast<void>(operation.wait()); }),
                       {rank == 0 ? "allreduce: rank 1 sent 24 bytes where this rank expects 16; rank "
                                  : "allreduce: rank 0 sent 16 bytes where this rank expects 24; rank ",
                        "rank 0 allreduce of 16 bytes (sum of unsigned integers, 8 bytes each), number 2",
                        "rank 1 allreduce of 24 bytes"});
  });
  test::expect_names(
      errors[0], {"allreduce: rank 1 sent 24 bytes where this rank expects 16; rank ",
                  "rank 0 allreduce of 16 bytes (sum of unsigned integers, 8 bytes each), number 1 of its "
                  "Collective, at ",
                  "rank 1 allreduce of 24 bytes (sum of unsigned integers, 8 bytes each), number 1 of its "
                  "Collective, at ",
                  "collective_test.cpp:",
                  "; all ranks call the same collectives in the same order with the same lengths"});
  test::expect_names(errors[1], {"allreduce: rank 0 sent 16 bytes where this rank expects 24; rank "});
}

TEST(CollectiveMisuse, lengths_that_travel_differently_are_reported_as_well) {
  const std::size_t lengths[] = {1, 1024};  // as active messages, and as matched ones
  for (const std::size_t mine : lengths)
    for (const std::size_t theirs : lengths) {
      if (mine == theirs) continue;
      Job job(2);
      std::vector<std::string> errors(2);
      job.run([&](Collective& collective, int rank) {
        std::vector<std::uint64_t> values(rank == 0 ? mine : theirs);
        std::vector<std::uint64_t> result(values.size());
        errors[static_cast<std::size_t>(rank)] =
            error_of([&] { static_cast<void>(collective.allreduce(values, result, operators::Sum{})); });
      });
      EXPECT_NE(errors[0].find("allreduce: rank 1 sent "), std::string::npos) << mine << ", " << theirs;
      EXPECT_NE(errors[1].find("allreduce: rank 0 sent "), std::string::npos) << mine << ", " << theirs;
    }
}

}  // namespace
}  // namespace weft
