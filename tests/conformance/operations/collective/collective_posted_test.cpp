// Collectives that are posted: several under way at a time, begun by whichever thread, ended by completion
// objects.
#include "support/collectives.hpp"
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
