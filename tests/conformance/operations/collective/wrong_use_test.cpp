// Wrong use of collectives that only some ranks could notice ends with an error on every rank, whether they
// wait or have posted, and so does a call whose time is over.
#include "support/collectives.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::CollectiveJob;
using test::expect_names;
using namespace std::chrono_literals;

/// What the call throws; nothing: "".
template <class Call>
std::string told_by(const Call& call) {
  const std::string text = test::error_of(call);
  return text == "no error" ? "" : text;
}

class WrongUse : public testing::Test {
 protected:
  /// What the ranks are told in two calls, the second one of which is right.
  static std::vector<std::string> errors_of(int ranks, const std::function<void(Collective&, int)>& work) {
    CollectiveJob job(ranks);
    std::vector<std::string> errors(static_cast<std::size_t>(ranks));
    job.run([&](Collective& all, int rank) {
      std::string& error = errors[static_cast<std::size_t>(rank)];
      error = told_by([&] { work(all, rank); });
      // Who has ended before it was known is told by one of the next calls. The order is still the same.
      for (int more = 0; more < 2000; ++more) {
        const std::string later = told_by([&] { EXPECT_EQ(all.barrier(), Outcome::ok); });
        if (error.empty()) error = later;
        std::uint64_t missing = 0;
        const std::uint64_t mine = error.empty() ? 1 : 0;
        const std::string another =
            told_by([&] { EXPECT_EQ(all.allreduce(mine, missing, operators::Sum{}), Outcome::ok); });
        if (error.empty()) error = another;
        if (missing == 0) break;
      }
    });
    return errors;
  }
  std::vector<std::uint64_t> ten_ = std::vector<std::uint64_t>(10);
};

TEST_F(WrongUse, another_length_is_told_to_those_that_do_not_see_it) {
  const auto errors = errors_of(4, [&](Collective& all, int rank) {
    // The root has sent, and ended; only the rank with the other length can see it.
    std::vector<std::uint64_t> values(rank == 3 ? 11 : 10);
    static_cast<void>(all.broadcast(values, 0));
  });
  for (const std::string& error : errors)
    expect_names(error,
                 {"sent 80 bytes", "expects 88", "broadcast of 80 bytes, root 0, number 1 of its Collective",
                  "rank 3 broadcast of 88 bytes, root 0, number 1", "wrong_use_test.cpp:"});
}

TEST_F(WrongUse, other_counts_are_told_to_all) {
  const auto errors = errors_of(3, [&](Collective& all, int rank) {
    // Rank 1 sends three elements where the others expect two.
    const std::vector<std::uint64_t> mine(rank == 1 ? 3 : 2);
    const std::vector<std::size_t> counts =
        rank == 1 ? std::vector<std::size_t>{2, 3, 2} : std::vector<std::size_t>{2, 2, 2};
    std::vector<std::uint64_t> to(rank == 1 ? 7 : 6);
    static_cast<void>(all.allgather(mine, to, counts));
  });
  for (const std::string& error : errors)
    expect_names(error,
                 {"rank 1 sent 24 bytes", "expects 16", "allgather of blocks that differ", "number 1"});
}

TEST_F(WrongUse, a_neighbor_that_is_not_one_is_named) {
  const auto errors = errors_of(2, [&](Collective& all, int rank) {
    const std::vector<int> other{1 - rank};
    const std::vector<int> nobody;
    std::vector<std::uint64_t> to(10);
    if (rank == 0)
      static_cast<void>(all.neighbor_allgather(ten_, to, other, nobody));
    else
      static_cast<void>(all.neighbor_allgather(ten_, std::span(to).first(0), nobody, nobody));
  });
  for (const std::string& error : errors)
    expect_names(error, {"neighbor_allgather", "only one of them names the other as neighbor"});
}

TEST_F(WrongUse, a_neighbor_that_expects_nothing_is_named) {
  const auto errors = errors_of(3, [&](Collective& all, int rank) {
    const std::vector<int> other{1};
    const std::vector<int> nobody;
    std::vector<std::uint64_t> to(10);
    if (rank == 0)  // which does not wait for rank 1
      static_cast<void>(all.neighbor_allgather(ten_, std::span(to).first(0), nobody, other));
    else
      static_cast<void>(all.neighbor_allgather(ten_, std::span(to).first(0), nobody, nobody));
  });
  for (const std::string& error : errors)
    expect_names(error, {"neighbor_allgather", "only one of them names the other as neighbor",
                         "rank 0 sends to rank 1, which does not name it as a source", "number 1"});
}

TEST_F(WrongUse, a_neighbor_that_expects_nothing_any_more_is_named) {
  const auto errors = errors_of(3, [&](Collective& all, int rank) {
    const std::vector<int> nobody;
    const std::vector<int> left{(rank + 2) % 3};
    const std::vector<int> right{(rank + 1) % 3};
    std::vector<std::uint64_t> to(10);
    for (int turn = 0; turn < 20; ++turn)
      EXPECT_EQ(all.neighbor_alltoall(ten_, to, left, right), Outcome::ok);
    // From now on rank 2 sends, and expects nothing.
    const bool expects = rank != 2;
    static_cast<void>(
        all.neighbor_alltoall(ten_, std::span(to).first(expects ? 10 : 0), expects ? left : nobody, right));
  });
  for (const std::string& error : errors)
    expect_names(error, {"rank 1 sends to rank 2, which does not name it as a source", "number 21"});
}

TEST_F(WrongUse, of_what_is_posted_is_told_to_all_though_nobody_waits) {
  CollectiveJob job(3);
  std::atomic<int> right{0};
  job.run([&](Collective& all, int rank) {
    std::vector<std::uint64_t> sum(10);
    // Another order on one rank.
    if (rank == 1) all.post(all.make_barrier());
    all.post(all.make_allreduce(ten_, sum, operators::Sum{}));
    if (rank != 1) all.post(all.make_barrier());
    // Nobody waits in a collective, until all have been told.
    EXPECT_TRUE(test::until(
        [&] {
          const std::string error = told_by([&] { static_cast<void>(all.barrier()); });
          if (error.empty()) return false;
          expect_names(error,
                       {"ranks have called different collectives", "barrier, number 1", "allreduce of 80"});
          return true;
        },
        [&] {
          for (int step = 0; step < 10'000; ++step) job.ranks().endpoint(rank).progress();
        }));
    for (int post = 0; post < 2; ++post)
      static_cast<void>(told_by([&] { static_cast<void>(all.wait_posted()); }));
    ++right;
    while (right.load() < 3) job.ranks().endpoint(rank).progress();
  });
}

class Deadline : public testing::TestWithParam<std::size_t> {};

TEST_P(Deadline, ends_a_call_on_every_rank_that_waits) {
  const std::size_t count = GetParam();
  test::Ranks<Endpoint> job(3);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      // All have the same timeout; rank 2 does not come.
      Collective all(job.runtime(rank), job.endpoint(rank), {.timeout = 150ms});
      const std::vector<std::uint64_t> mine(count, 1);
      std::vector<std::uint64_t> sum(count);
      if (rank != 2) {
        if (all.allreduce(mine, sum, operators::Sum{}) == Outcome::timed_out) ++right;
        if (all.barrier() == Outcome::timed_out) ++right;
        Counter done;
        all.post(all.make_barrier(), {.completion = &done});
        job.endpoint(rank).wait(done, 1);
        CollectiveOperation operation = all.make_allreduce(mine, sum, operators::Sum{});
        operation.start();
        if (operation.wait() == Outcome::timed_out) ++right;
      } else {
        // It is told when it comes, or, if all it needed had arrived, afterwards.
        EXPECT_TRUE(test::until([&] { return right.load() == 6; }, [&] { job.endpoint(rank).progress(); }));
        Outcome outcome = all.allreduce(mine, sum, operators::Sum{});
        if (outcome == Outcome::ok) outcome = all.barrier();
        EXPECT_EQ(outcome, Outcome::timed_out);
        ++right;
      }
      while (right.load() < 7) job.endpoint(rank).progress();
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_P(Deadline, ends_what_is_posted) {
  const std::size_t count = GetParam();
  test::Ranks<Endpoint> job(2);
  std::atomic<int> over{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      Collective all(job.runtime(rank), job.endpoint(rank), {.timeout = 100ms});
      const std::vector<std::uint64_t> mine(count, 1);
      std::vector<std::uint64_t> sum(count);
      if (rank == 0) {
        CompletionQueue done;
        all.post(all.make_allreduce(mine, sum, operators::Sum{}), {.completion = &done});
        EXPECT_EQ(job.endpoint(rank).wait(done).outcome(), Outcome::timed_out);
        all.post(all.make_barrier());
        EXPECT_EQ(all.wait_posted(), Outcome::timed_out);
      }
      ++over;
      while (over.load() < 2) job.endpoint(rank).progress();
    });
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(of, Deadline, testing::Values(1, 1000, 20'000), testing::PrintToStringParamName());

}  // namespace
}  // namespace weft
