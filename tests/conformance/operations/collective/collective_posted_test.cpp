// Collectives that are posted: several under way at a time, begun by whichever thread, ended by completion
// objects.
#include "support/collectives.hpp"
#include "support/deadlines.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::elements;
using test::sums;
using PostedJob = test::CollectiveJob;
using Numbers = std::vector<std::uint64_t>;

class CollectivesPosted : public ::testing::TestWithParam<int> {};

TEST_P(CollectivesPosted, end_by_their_completion_objects_while_others_are_under_way) {
  constexpr std::size_t kAtATime = 20;
  PostedJob job(GetParam());
  std::atomic<int> wrong{0};
  job.run([&](Collective& all, int rank) {
    Counter done;
    std::vector<Numbers> values;
    std::vector<Numbers> results(kAtATime);
    for (std::size_t number = 0; number < kAtATime; ++number) {
      const std::size_t count = number % 3 == 0 ? 9000 : number;
      values.push_back(elements(rank, count, number));
      results[number].resize(number % 2 == 0 ? count : count * static_cast<std::size_t>(job.size()));
      if (number % 2 == 0)
        all.post(all.make_allreduce(values[number], results[number], operators::Sum{}),
                 {.completion = &done});
      else
        all.post(all.make_allgather(values[number], results[number]), {.completion = &done});
    }
    while (done.value() < kAtATime)
      if (job.ranks().endpoint(rank).progress() == 0) std::this_thread::yield();
    for (std::size_t number = 0; number < kAtATime; ++number) {
      Numbers expected;
      if (number % 2 == 0) {
        expected = sums(job.size(), values[number].size(), number);
      } else {
        for (int from = 0; from < job.size(); ++from) {
          const Numbers theirs = elements(from, values[number].size(), number);
          expected.insert(expected.end(), theirs.begin(), theirs.end());
        }
      }
      if (results[number] != expected) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(CollectivesPosted, may_be_begun_by_any_thread_in_the_order_of_the_job) {
  constexpr std::uint64_t kRounds = 30;
  PostedJob job(GetParam());
  std::atomic<int> wrong{0};
  job.run([&](Collective& all, int rank) {
    std::mutex mutex;
    std::uint64_t next = 0;
    std::vector<std::uint64_t> mine(kRounds);
    std::vector<std::uint64_t> results(kRounds);
    const auto work = [&] {
      for (;;) {
        const std::lock_guard lock(mutex);
        if (next == kRounds) return;
        const std::uint64_t round = next++;
        mine[round] = round * 100 + static_cast<std::uint64_t>(rank);
        all.post(all.make_allreduce(mine[round], results[round], operators::Max{}));
      }
    };
    std::thread other(work);
    work();
    other.join();
    if (all.wait_posted() != Outcome::ok) ++wrong;
    for (std::uint64_t round = 0; round < kRounds; ++round)
      if (results[round] != round * 100 + static_cast<std::uint64_t>(job.size() - 1)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(ranks, CollectivesPosted, ::testing::Values(1, 2, 3, 5),
                         ::testing::PrintToStringParamName());

TEST(PostedCollectives, with_other_lengths_end_as_truncated) {
  PostedJob job(2);
  std::atomic<int> truncated{0};
  job.run([&](Collective& all, int rank) {
    const Numbers mine(rank == 0 ? 4 : 5);
    Numbers result(2 * mine.size());
    CompletionQueue done;
    int mark = 0;
    all.post(all.make_allgather(mine, result), {.completion = &done, .user_data = &mark});
    const Message message = job.ranks().endpoint(rank).wait(done);
    if (message.outcome() == Outcome::truncated && message.user_data() == &mark) ++truncated;
  });
  EXPECT_EQ(truncated, 2);
}

TEST(PostedCollectives, that_have_failed_unseen_are_told_by_the_wait_for_all) {
  PostedJob job(2);
  std::atomic<int> told{0};
  job.run([&](Collective& all, int rank) {
    const Numbers mine(rank == 0 ? 4 : 5);
    Numbers result(2 * mine.size());
    all.post(all.make_allgather(mine, result));
    Numbers sum(1);
    const Numbers one(1, 1);
    // One in so many of these drops what has ended; the one before, which has failed, stays.
    for (int more = 0; more < 50; ++more) {
      Counter done;
      all.post(all.make_allreduce(one, sum, operators::Sum{}), {.completion = &done});
      job.ranks().endpoint(rank).wait(done, 1);
    }
    const std::string error = test::error_of([&] { static_cast<void>(all.wait_posted()); });
    if (error.find("allgather: rank " + std::to_string(1 - rank) + " sent ") == 0 &&
        all.wait_posted() == Outcome::ok)
      ++told;
  });
  EXPECT_EQ(told, 2);
}

TEST(PostedCollectives, behind_one_that_cannot_end_go_on) {
  PostedJob job(2);
  std::atomic<int> right{0};
  job.run([&](Collective& all, int rank) {
    const Numbers mine(1, static_cast<std::uint64_t>(rank));
    Numbers two(2);
    Numbers one(1);
    Numbers longer = elements(rank, 9000, 3);
    Numbers sum(9000);
    if (rank == 0)
      all.post(all.make_allgather(mine, two));
    else
      all.post(all.make_allreduce(mine, one, operators::Max{}));
    all.post(all.make_allreduce(longer, sum, operators::Sum{}));
    const std::string error = test::error_of([&] { static_cast<void>(all.wait_posted()); });
    if (error.find("ranks have called different collectives: ") != 0) return;
    // Its buffers are still in use until it has ended by itself, on both ranks; it is told of the difference,
    // too.
    static_cast<void>(test::error_of([&] { static_cast<void>(all.wait_posted()); }));
    EXPECT_EQ(all.wait_posted(), Outcome::ok) << "nothing is left";
    ++right;
  });
  EXPECT_EQ(right, 2);
}

/// Rank 1 calls something else than the others; nobody waits in a collective.
class PostedInDisagreement : public ::testing::TestWithParam<std::size_t> {};
// Another kind; another length, by which the ranks choose other algorithms.
INSTANTIATE_TEST_SUITE_P(with, PostedInDisagreement, ::testing::Values(0, 9000),
                         ::testing::PrintToStringParamName());

TEST_P(PostedInDisagreement, signal_their_completion_objects_on_every_rank) {
  const std::size_t other = GetParam();
  PostedJob job(3);
  std::atomic<int> ended{0};
  job.run([&](Collective& all, int rank) {
    const bool is_other = rank == 1;
    const Numbers mine(is_other ? other : 10, 1);
    Numbers sum(mine.size());
    CompletionQueue done;
    all.post(is_other && other == 0 ? all.make_barrier() : all.make_allreduce(mine, sum, operators::Sum{}),
             {.completion = &done});
    const Outcome outcome = job.ranks().endpoint(rank).wait(done).outcome();
    EXPECT_EQ(outcome, other == 0 ? Outcome::cancelled : Outcome::truncated) << "rank " << rank;
    ++ended;
    while (ended.load() < 3) job.ranks().endpoint(rank).progress();
    EXPECT_NE(test::error_of([&] { static_cast<void>(all.barrier()); }), "no error");
    EXPECT_EQ(all.wait_posted(), Outcome::ok) << "who has a completion object has been told";
  });
}

TEST(PostedCollectives, that_disagree_end_though_their_watch_was_refused_at_first) {
  PostedJob job(2, {{"deadlines", "1"}});
  job.run([&](Collective& all, int rank) {
    auto& endpoint = job.ranks().endpoint(rank);
    Counter other;
    ReceiveHandle handle;
    // The one operation with a timeout that there may be at a time: none is left for the watch.
    ASSERT_TRUE(
        endpoint
            .post_receive(1 - rank, 1, {}, {.completion = &other, .handle = &handle, .timeout = test::kFar})
            .is_posted());
    const Numbers mine(10, 1);
    Numbers sum(10);
    CompletionQueue done;
    all.post(rank == 1 ? all.make_barrier() : all.make_allreduce(mine, sum, operators::Sum{}),
             {.completion = &done});
    EXPECT_TRUE(endpoint.cancel(handle));
    EXPECT_EQ(endpoint.wait(done).outcome(), Outcome::cancelled) << "rank " << rank;
    EXPECT_NE(test::error_of([&] { static_cast<void>(all.barrier()); }), "no error");
  });
}

TEST(PostedCollectives, that_disagree_end_though_their_receives_wait_in_the_backlog) {
  PostedJob job(2, {{"matching_records", "64"}});
  job.run([&](Collective& all, int rank) {
    auto& endpoint = job.ranks().endpoint(rank);
    MatchingContext context(job.ranks().runtime(rank), {.key = 3});
    Counter others;
    // Contexts share the records of an engine.
    while (job.ranks().runtime(rank).counters().backlog_now == 0)
      ASSERT_TRUE(
          endpoint.post_receive(1 - rank, context.tag(1), {}, {.completion = &others, .may_retry = false})
              .is_posted());
    Numbers values(10);
    CompletionQueue done;
    // Nobody sends: each takes the other one for the root.
    all.post(all.make_broadcast(values, 1 - rank), {.completion = &done});
    EXPECT_EQ(endpoint.wait(done).outcome(), Outcome::cancelled) << "rank " << rank;
    EXPECT_NE(test::error_of([&] { static_cast<void>(all.barrier()); }), "no error");
  });
}

TEST(PostedCollectives, are_refused_beyond_the_numbers_that_keep_them_apart) {
  constexpr int kMost = 1 << 15;  // of two ranks
  PostedJob job(2);
  std::atomic<bool> has_posted{false};
  job.run([&](Collective& all, int rank) {
    std::uint64_t value = 7;
    while (rank == 0 && !has_posted.load()) job.ranks().endpoint(rank).progress();
    for (int count = 0; count < kMost; ++count) all.post(all.make_broadcast(value, 0));
    if (rank == 1) {
      EXPECT_EQ(test::error_of([&] { all.post(all.make_broadcast(value, 0)); }),
                "post: 32768 collectives of this Collective are under way: wait for some of them first");
      has_posted = true;
    }
    EXPECT_EQ(all.wait_posted(), Outcome::ok);
    EXPECT_EQ(all.barrier(), Outcome::ok);
  });
}

TEST(PostedCollectives, that_fail_are_not_forgotten_for_others_that_do_not) {
  test::Ranks<Endpoint> ranks(2);
  std::vector<std::unique_ptr<Collective>> collectives;
  for (int rank = 0; rank < 2; ++rank)
    collectives.push_back(std::make_unique<Collective>(ranks.runtime(rank), ranks.endpoint(rank)));
  Numbers sum(10);
  const Numbers mine(10, 1);
  std::uint64_t value = 7;
  Collective& all = *collectives[0];
  all.post(all.make_allreduce(mine, sum, operators::Sum{}));
  all.post(all.make_broadcast(value, 0));  // which ends at once, where it is sent from
  std::thread other([&] {
    collectives[1].reset();
    ranks.leave(1);
  });
  EXPECT_EQ(all.wait_posted(), Outcome::peer_failed);
  collectives[0].reset();
  ranks.leave(0);
  other.join();
}

TEST(PostedCollectives, are_refused_when_empty_or_made_elsewhere) {
  PostedJob job(1);
  Collective& all = job.at(0);
  Collective other(job.ranks().runtime(0), job.ranks().endpoint(0), {.key = 7});
  Numbers sum(1);
  const Numbers one(1, 1);
  CollectiveOperation operation = all.make_allreduce(one, sum, operators::Sum{});
  EXPECT_EQ(test::error_of([&] { other.post(std::move(operation)); }),
            "post: the operation was made by another Collective: post it there");
  all.post(std::move(operation));
  const std::string empty =
      "CollectiveOperation: it is empty: it has been posted, or moved to another object";
  EXPECT_EQ(test::error_of([&] { all.post(std::move(operation)); }), empty);  // NOLINT: this is what is tried
  EXPECT_EQ(test::error_of([&] { operation.start(); }), empty);
  EXPECT_EQ(test::error_of([&] { static_cast<void>(operation.wait()); }), empty);
  EXPECT_EQ(all.wait_posted(), Outcome::ok);
}

TEST(PostedCollectives, while_they_run_are_refused) {
  PostedJob job(2);
  job.run([&](Collective& all, int rank) {
    std::uint64_t sum = 0;
    const std::uint64_t mine = 1;
    CollectiveOperation operation = all.make_allreduce(mine, sum, operators::Sum{});
    if (rank == 0) {
      operation.start();
      EXPECT_NE(test::error_of([&] { all.post(std::move(operation)); }).find("the graph is running"),
                std::string::npos);
      EXPECT_EQ(operation.wait(), Outcome::ok);
    } else {
      all.post(std::move(operation));
      EXPECT_EQ(all.wait_posted(), Outcome::ok);
    }
    EXPECT_EQ(sum, 2U);
  });
}

}  // namespace
}  // namespace weft
