// Ranks that call different collectives in the same place of their order: all that wait end with an error
// that names both, instead of waiting for ever.
#include "support/collectives.hpp"
#include "support/errors.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::CollectiveJob;
using test::error_of;

class RollCall : public testing::Test {
 protected:
  using Work = std::function<void(Collective&, int)>;

  /// What the ranks are told, when each does its `work` until it throws.
  std::vector<std::string> errors_of(int ranks, const Work& work) {
    CollectiveJob job(ranks);
    std::vector<std::string> errors(static_cast<std::size_t>(ranks));
    job.run([&](Collective& collective, int rank) {
      errors[static_cast<std::size_t>(rank)] = error_of([&] { work(collective, rank); });
    });
    return errors;
  }
  static void expect_both(const std::string& error, const std::string& one, const std::string& other) {
    EXPECT_NE(error.find("ranks have called different collectives"), std::string::npos) << error;
    EXPECT_NE(error.find(one), std::string::npos) << error;
    EXPECT_NE(error.find(other), std::string::npos) << error;
    EXPECT_NE(error.find("roll_call_test.cpp:"), std::string::npos) << error;
  }

  std::vector<double> from_ = std::vector<double>(10);
};

TEST_F(RollCall, an_exchanged_order_is_named_by_every_rank) {
  for (const int ranks : {2, 3}) {
    const auto errors = errors_of(ranks, [&](Collective& collective, int rank) {
      std::vector<double> to(10);
      if (rank == 0) static_cast<void>(collective.barrier());
      static_cast<void>(collective.allreduce(from_, to, operators::Sum{}));
      if (rank != 0) static_cast<void>(collective.barrier());
    });
    for (const std::string& error : errors)
      expect_both(error, "rank 0 barrier, number 1 of its Collective", "allreduce of 80 bytes (sum");
  }
}

TEST_F(RollCall, other_roots_are_named) {
  const auto errors = errors_of(2, [&](Collective& collective, int rank) {
    // Each rank waits for the other one's value.
    int value = rank;
    static_cast<void>(collective.broadcast(value, 1 - rank));
  });
  for (const std::string& error : errors)
    expect_both(error, "rank 0 broadcast of 4 bytes, root 1", "rank 1 broadcast of 4 bytes, root 0");
}

TEST_F(RollCall, other_operators_are_named_and_not_mixed) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{1} << 10, std::size_t{1} << 16}) {
    const auto errors = errors_of(2, [&](Collective& collective, int rank) {
      std::vector<std::uint64_t> values(count, 3);
      std::vector<std::uint64_t> to(count);
      if (rank == 0)
        static_cast<void>(collective.allreduce(values, to, operators::Sum{}));
      else
        static_cast<void>(collective.allreduce(values, to, operators::Max{}));
    });
    for (const std::string& error : errors) expect_both(error, "(sum of unsigned", "(max of unsigned");
  }
}

TEST_F(RollCall, collectives_that_were_laid_out_are_compared_as_well) {
  const auto errors = errors_of(2, [&](Collective& collective, int rank) {
    std::vector<double> to(10);
    CollectiveOperation sum = collective.make_allreduce(from_, to, operators::Sum{});
    CollectiveOperation product = collective.make_allreduce(from_, to, operators::Product{});
    CollectiveOperation& first = rank == 0 ? sum : product;
    first.start();
    static_cast<void>(first.wait());
  });
  for (const std::string& error : errors) expect_both(error, "(sum of floating", "(product of floating");
}

TEST_F(RollCall, a_rank_that_has_gone_on_is_known_by_what_it_had_called) {
  const auto errors = errors_of(2, [&](Collective& collective, int rank) {
    int value = rank;
    if (rank == 0) {
      static_cast<void>(collective.broadcast(value, 0));  // does not wait
      static_cast<void>(collective.barrier());
    } else {
      static_cast<void>(collective.barrier());
      static_cast<void>(collective.broadcast(value, 0));
    }
  });
  for (const std::string& error : errors)
    expect_both(error, "rank 0 broadcast of 4 bytes, root 0, number 1", "rank 1 barrier, number 1");
}

TEST_F(RollCall, ranks_that_come_late_are_no_difference) {
  CollectiveJob job(3);
  job.run([&](Collective& collective, int rank) {
    for (int round = 0; round < 3; ++round) {
      if (rank == round) std::this_thread::sleep_for(std::chrono::milliseconds(150));
      EXPECT_EQ(collective.barrier(), Outcome::ok);
      std::uint64_t sum = 0;
      EXPECT_EQ(collective.allreduce(std::uint64_t{1}, sum, operators::Sum{}), Outcome::ok);
      EXPECT_EQ(sum, 3U);
    }
  });
}

TEST(CollectiveOfOneRank, moves_communication_as_one_of_several_does) {
  test::Ranks<Endpoint> ranks{1};
  Collective collective(ranks.runtime(0), ranks.endpoint(0));
  Counter arrived;
  const RemoteCompletion remote = ranks.runtime(0).expose(arrived, {.id = 1});
  const auto post = [&] {
    for (;;)
      if (ranks.endpoint(0).post_am(0, remote, {}).is_accepted()) return;
  };
  std::uint64_t expected = 0;
  int value = 1;
  int sum = 0;
  CollectiveOperation operation = collective.make_barrier();
  const std::function<void()> calls[] = {
      [&] { EXPECT_EQ(collective.barrier(), Outcome::ok); },
      [&] { EXPECT_EQ(collective.broadcast(value, 0), Outcome::ok); },
      [&] { EXPECT_EQ(collective.reduce(value, sum, operators::Sum{}, 0), Outcome::ok); },
      [&] { EXPECT_EQ(collective.allreduce(value, sum, operators::Sum{}), Outcome::ok); },
      [&] {
        operation.start();
        EXPECT_EQ(operation.wait(), Outcome::ok);
      }};
  for (const auto& call : calls) {
    post();
    ++expected;
    // As programs do: collectives until nothing is under way.
    EXPECT_TRUE(test::until([&] { return arrived.value() == expected; }, call));
  }
  EXPECT_EQ(sum, 1);
}

}  // namespace
}  // namespace weft
