// What keeps the timeouts of a device: how many there may be, for how long, and who is woken for them.
#include <weft/testing/in_process_job.hpp>

#include "support/deadlines.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>

namespace weft {
namespace {

using test::kFar;
using test::kSoon;
using test::Ranks;
using test::Recorder;

TEST(DeadlineNodes, that_are_all_in_use_answer_retry) {
  Ranks<Endpoint> ranks(2, {{"deadlines", "2"}});
  Recorder ended;
  std::array<std::byte, 8> buffer{};
  std::array<ReceiveHandle, 2> handles;
  const auto post = [&](ReceiveHandle* handle) {
    return ranks.endpoint(1).post_receive(0, 6, buffer,
                                          {.completion = &ended, .handle = handle, .timeout = kFar});
  };
  ASSERT_TRUE(post(&handles[0]).is_posted());
  ASSERT_TRUE(post(&handles[1]).is_posted());
  EXPECT_EQ(post(nullptr), Status::retry(Reason::no_request));
  EXPECT_TRUE(ranks.endpoint(1).cancel(handles[0]));
  ReceiveHandle again;
  ASSERT_TRUE(ranks.progress_until([&] { return post(&again).is_posted(); }));
  EXPECT_TRUE(ranks.endpoint(1).cancel(again));
  EXPECT_TRUE(ranks.endpoint(1).cancel(handles[1]));
  EXPECT_EQ(ended.messages.size(), 3U);
}

TEST(DeadlineNodes, may_be_signalled_after_their_device) {
  Recorder ended;
  std::array<std::byte, 8> buffer{};
  {
    InProcessJob job(1);
    Runtime runtime(job, 0);
    MatchingEngine engine(runtime, {.id = 3});
    {
      Device device(runtime, {.index = 1});
      Endpoint endpoint(device);
      ASSERT_TRUE(endpoint.post_receive(0, 6, buffer, {.completion = &ended, .engine = 3, .timeout = kFar})
                      .is_posted());
      endpoint.progress();
    }
    Device device(runtime, {.index = 1});
    Endpoint endpoint(device);
    EXPECT_TRUE(endpoint.post_receive(0, 7, buffer, {.completion = &ended, .engine = 3, .timeout = kSoon})
                    .is_posted());
    ASSERT_TRUE(test::until([&] { return ended.messages.size() == 1; }, [&] { endpoint.progress(); }));
    EXPECT_EQ(ended.messages[0].outcome(), Outcome::timed_out);
  }
  ASSERT_EQ(ended.messages.size(), 2U);
  EXPECT_EQ(ended.messages[1].outcome(), Outcome::cancelled);
}

/// A thread that is parked is woken for the receive of another one.
TEST(DeadlineNodes, wake_threads_that_are_parked) {
  Ranks<Endpoint> ranks(1, {{"park_timeout", "60"}, {"spin", "1"}, {"yield", "1"}});
  for (int round = 0; round < 20; ++round) {
    Synchronizer ended(1);
    std::thread waiter([&] { EXPECT_EQ(ranks.endpoint(0).wait(ended)[0].outcome(), Outcome::timed_out); });
    if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(round));
    std::array<std::byte, 8> buffer{};
    EXPECT_TRUE(test::until(
        [&] {
          return ranks.endpoint(0)
              .post_receive(0, 6, buffer, {.completion = &ended, .may_retry = false, .timeout = kSoon})
              .is_posted();
        },
        [] {}));
    waiter.join();
  }
}

}  // namespace
}  // namespace weft
