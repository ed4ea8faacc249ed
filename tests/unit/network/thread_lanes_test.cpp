// Threads that share a device spread over lanes, and everybody's messages arrive whoever polls.
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <functional>
#include <latch>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

using detail::DevicePath;
using detail::SendLane;
using test::Ranks;

/// Threads that live at the same time, and so have different numbers, each calling what it is given when the
/// one before it has returned.
void in_turn(int threads, const std::function<void(int)>& call) {
  std::atomic<int> turn{0};
  std::latch all(threads);
  std::vector<std::jthread> running;
  for (int number = 0; number < threads; ++number) {
    running.emplace_back([&, number] {
      for (int at = turn.load(); at != number; at = turn.load()) turn.wait(at);
      call(number);
      turn.fetch_add(1);
      turn.notify_all();
      all.arrive_and_wait();
    });
  }
}

std::set<const SendLane*> lanes_between(Endpoint& endpoint, int peer) {
  std::set<const SendLane*> lanes;
  for (std::uint32_t column = 0; column < DevicePath::kColumns; ++column)
    if (const SendLane* lane = endpoint.path().lane(peer, 0, column); lane != nullptr) lanes.insert(lane);
  return lanes;
}

class ThreadLanes : public testing::Test {
 protected:
  /// Whether rank 0 could post a message to rank 1.
  bool post(Ranks<Endpoint>& ranks, RemoteCompletion remote) {
    return ranks.post(0, 1, remote, test::payload(8, 1)).has_value();
  }
  Counter arrived_;
};

TEST_F(ThreadLanes, are_as_many_as_threads_that_send) {
  Ranks<Endpoint> ranks(2);
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived_, {.id = 1});
  in_turn(5, [&](int number) {
    EXPECT_TRUE(post(ranks, remote));
    EXPECT_TRUE(post(ranks, remote));
    EXPECT_EQ(lanes_between(ranks.endpoint(0), 1).size(), static_cast<std::size_t>(number) + 1);
  });
  EXPECT_TRUE(ranks.progress_until([&] { return arrived_.value() == 10; }));
}

TEST_F(ThreadLanes, are_no_more_than_the_attribute_allows) {
  for (const char* most : {"1", "3"}) {
    Ranks<Endpoint> ranks(2, {{"thread_lanes", most}});
    Counter arrived;
    const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
    in_turn(7, [&](int) { EXPECT_TRUE(post(ranks, remote)); });
    EXPECT_EQ(lanes_between(ranks.endpoint(0), 1).size(), std::strtoul(most, nullptr, 10));
    EXPECT_TRUE(ranks.progress_until([&] { return arrived.value() == 7; }));
  }
}

TEST_F(ThreadLanes, are_fewer_where_they_would_fill_the_table_of_a_device) {
  Ranks<Endpoint> ranks(2, {{"lanes_max", "16"}});
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived_, {.id = 1});
  in_turn(6, [&](int) { EXPECT_TRUE(post(ranks, remote)); });
  EXPECT_EQ(lanes_between(ranks.endpoint(0), 1).size(), 2U);
  EXPECT_TRUE(ranks.progress_until([&] { return arrived_.value() == 6; }));
}

TEST_F(ThreadLanes, are_shared_when_there_is_room_for_no_more) {
  Ranks<Endpoint> ranks(2, {{"lanes_max", "16"}});
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived_, {.id = 1});
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  const auto post_from = [&](Endpoint& endpoint) {
    return test::until([&] { return endpoint.post_am(1, remote, test::payload(8, 1)).is_done(); },
                       [&] { ranks.progress(); });
  };
  ASSERT_TRUE(post(ranks, remote));  // by which this thread gets its number
  in_turn(2, [&](int number) {
    if (number == 0) {
      for (int index = 1; index <= 15; ++index) {
        devices.push_back(std::make_unique<Device>(ranks.runtime(0), DeviceOptions{.index = index}));
        endpoints.push_back(std::make_unique<Endpoint>(*devices.back()));
        ASSERT_TRUE(post_from(*endpoints.back()));
      }
      return;
    }
    ASSERT_TRUE(post_from(*endpoints.front()));
    EXPECT_EQ(lanes_between(*endpoints.front(), 1).size(), 1U);
  });
  // This thread has the lowest number, so its column comes before that of the lane.
  ASSERT_TRUE(post_from(*endpoints.back()));
  EXPECT_EQ(lanes_between(*endpoints.back(), 1).size(), 1U);
  EXPECT_TRUE(ranks.progress_until([&] { return arrived_.value() == 18; }));
}

TEST_F(ThreadLanes, are_one_while_a_trace_is_made) {
  const std::string trace = testing::TempDir() + "weft-thread-lanes-%p-%r.json";
  testing::internal::CaptureStderr();
  {
    Ranks<Endpoint> ranks(2, {{"trace", trace.c_str()}, {"log", "warn,shm=debug"}});
    const RemoteCompletion remote = ranks.runtime(1).expose(arrived_, {.id = 1});
    in_turn(4, [&](int) { EXPECT_TRUE(post(ranks, remote)); });
    EXPECT_TRUE(ranks.progress_until([&] { return arrived_.value() == 4; }));
  }
  const std::string log = testing::internal::GetCapturedStderr();
  for (const char* rank : {"0", "1"})
    std::remove(
        (testing::TempDir() + "weft-thread-lanes-" + std::to_string(::getpid()) + "-" + rank + ".json")
            .c_str());
  const std::string made = ": a lane to device 0 of rank 1";
  const std::size_t first = log.find(made);
  ASSERT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find(made, first + 1), std::string::npos) << log;
}

TEST_F(ThreadLanes, are_emptied_by_any_thread_before_it_finds_nothing_to_do) {
  constexpr int kThreads = 6;
  constexpr int kEach = 100;
  Ranks<Endpoint> ranks(2);
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived_, {.id = 1});
  in_turn(kThreads, [&](int) { EXPECT_TRUE(post(ranks, remote)); });
  ASSERT_TRUE(ranks.progress_until([&] { return arrived_.value() == kThreads; }));
  for (std::uint64_t round = 1; round <= 20; ++round) {
    in_turn(kThreads, [&](int) {
      for (int count = 0; count < kEach; ++count)
        ASSERT_TRUE(ranks.endpoint(0).post_am(1, remote, test::payload(8, 1)).is_done());
    });
    while (ranks.endpoint(1).progress() != 0) {
    }
    EXPECT_EQ(arrived_.value(), kThreads + round * kThreads * kEach);
  }
}

/// A thread begins to poll when others have made lanes and a reply slot, and knows of them by what it reads
/// of them alone: a build for ThreadSanitizer tells what would not be ordered by that.
TEST_F(ThreadLanes, are_polled_by_threads_that_have_not_seen_them_made) {
  Ranks<Endpoint> ranks(2);
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived_, {.id = 1});
  Counter answered;
  static_cast<void>(ranks.runtime(0).expose(answered, {.id = 1}));
  std::atomic<bool> is_made{false};
  std::atomic<int> polls{0};
  std::atomic<bool> has_arrived{false};
  std::jthread late([&] {
    EXPECT_TRUE(test::until([&] { return is_made.load(std::memory_order_relaxed); }, [] {}));
    EXPECT_TRUE(test::until([&] { return ranks.endpoint(1).progress() != 0; },
                            [&] { polls.fetch_add(1, std::memory_order_relaxed); }));
    has_arrived.store(true);
  });
  for (std::uint64_t round = 1; round <= 20; ++round) {
    ASSERT_TRUE(ranks.post(0, 1, remote, test::payload(8, round)).has_value());
    ASSERT_TRUE(ranks.progress_until([&] { return arrived_.value() == round; }));
    ASSERT_TRUE(ranks.post(1, 0, remote, test::payload(8, round)).has_value());
    ASSERT_TRUE(ranks.progress_until([&] { return answered.value() == round; }));
  }
  is_made.store(true, std::memory_order_relaxed);
  EXPECT_TRUE(test::until([&] { return polls.load(std::memory_order_relaxed) > 100; }, [] {}));
  EXPECT_TRUE(ranks.endpoint(0).post_am(1, remote, test::payload(8, 1)).is_done());
  EXPECT_TRUE(test::until([&] { return has_arrived.load(); }, [] {}));
  EXPECT_EQ(arrived_.value(), 21U);
}

TEST_F(ThreadLanes, leave_credits_for_every_thread) {
  constexpr int kCredits = 64;
  Ranks<Endpoint> ranks(2, {{"unexpected_credits", "64"}, {"thread_lanes", "15"}});
  const std::uint64_t value = 7;
  std::uint64_t sent = 0;
  in_turn(15, [&](int number) {
    // The last one sends until it is refused: the others have not left its credits in their lanes.
    const int most = number < 14 ? 1 : 2 * kCredits;
    for (int count = 0; count < most; ++count) {
      Status status = Status::retry(Reason::none);
      EXPECT_TRUE(test::until(
          [&] {
            status = ranks.endpoint(0).post_send(1, 3, bytes_of(value));
            return status.is_done() || status.reason() == Reason::no_credit;
          },
          [&] { ranks.progress(); }));
      if (!status.is_done()) break;
      ++sent;
    }
  });
  EXPECT_GE(sent, 14U + kCredits / 4);
  Counter received;
  std::uint64_t buffer = 0;
  for (std::uint64_t count = 0; count < sent; ++count)
    EXPECT_TRUE(
        ranks.endpoint(1)
            .post_receive(0, 3, std::as_writable_bytes(std::span(&buffer, 1)), {.completion = &received})
            .is_accepted());
  EXPECT_TRUE(ranks.progress_until([&] { return received.value() == sent; }));
}

}  // namespace
}  // namespace weft
