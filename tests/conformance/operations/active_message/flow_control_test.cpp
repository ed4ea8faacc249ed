// What happens to senders when nobody receives: they are told, memory is bounded, and others go on.
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace weft {
namespace {

using test::payload;
using test::Ranks;

/// Posts until a retry, with progress of everybody in between; returns the count and the last reason.
template <class EndpointType>
std::pair<std::uint64_t, Reason> flood(Ranks<EndpointType>& ranks, int to, RemoteCompletion remote,
                                       Bytes bytes, std::uint64_t enough) {
  std::uint64_t accepted = 0;
  int refused = 0;
  Reason reason = Reason::none;
  while (refused < 200 && accepted < enough) {
    const Status status = ranks.endpoint(0).post_am(to, remote, bytes);
    if (status.is_retry()) {
      reason = status.reason();
      ++refused;
      ranks.progress();
    } else {
      ++accepted;
      refused = 0;
    }
    if (accepted % 16 == 0) ranks.progress();
  }
  return {accepted, reason};
}

TEST(FlowControl, a_rank_that_never_progresses_stops_its_senders) {
  for (const std::size_t size : {std::size_t{8}, std::size_t{300}, std::size_t{3000}}) {
    Ranks<Endpoint> ranks(3, test::kNoSurprises);
    Counter arrived[2];
    const RemoteCompletion remote = ranks.runtime(1).expose(arrived[0], {.id = 1});
    ranks.runtime(2).expose(arrived[1], {.id = 1});
    ASSERT_TRUE(ranks.meet());
    const auto bytes = payload(size, 1);
    std::uint64_t accepted = 0;
    Status status = Status::done();
    // A thread that sends on what is staged may be inside the device for a moment.
    while ((status = ranks.endpoint(0).post_am(1, remote, bytes)).is_accepted() ||
           status.reason() == Reason::lock_contended) {
      if (!status.is_accepted()) continue;
      ASSERT_LT(++accepted, 100'000U);
    }
    EXPECT_TRUE(status.reason() == Reason::no_slot || size > 432) << size << ": " << name_of(status.reason());
    // Another peer is reached all the same, unless all packets lie in the first one's lane.
    const std::uint64_t more = size <= 432 ? 1000 : 0;
    for (std::uint64_t count = 0; count < more; ++count) {
      ASSERT_TRUE(test::until([&] { return ranks.endpoint(0).post_am(2, remote, bytes).is_accepted(); },
                              [&] { ranks.endpoint(2).progress(); }));
    }
    ASSERT_TRUE(
        ranks.progress_until([&] { return arrived[0].value() == accepted && arrived[1].value() == more; }));
  }
}

class UnpoppedQueue : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(bytes, UnpoppedQueue, testing::Values(0, 8, 48, 300, 3000, 20'000));

TEST_P(UnpoppedQueue, stops_its_senders_and_nobody_else) {
  Ranks<Endpoint> ranks(3);
  CompletionQueue ignored({.capacity = 500});
  const RemoteCompletion stopped = ranks.runtime(1).expose(ignored, {.id = 1});
  CompletionQueue used;
  const RemoteCompletion open = ranks.runtime(1).expose(used, {.id = 2});
  ASSERT_TRUE(ranks.meet());
  const auto bytes = payload(GetParam(), 1);
  const auto [accepted, reason] = flood(ranks, 1, stopped, bytes, 200'000);
  EXPECT_EQ(reason, Reason::no_credit) << name_of(reason);
  EXPECT_GE(accepted, 500U);
  EXPECT_LE(accepted, 500U + 2048U) << "what is under way is bounded by the lanes";
  // Another queue of the same rank, on the same devices, with every protocol.
  for (const std::size_t size : {std::size_t{8}, std::size_t{300}, std::size_t{3000}, std::size_t{20'000}}) {
    const auto other = payload(size, size);
    Counter sent;
    for (int count = 0; count < 100; ++count) {
      ASSERT_TRUE(ranks.post(0, 1, open, other, {.completion = &sent}).has_value())
          << size << " bytes to another queue";
      Message message;
      ASSERT_TRUE(ranks.progress_until([&] { return used.pop(message); }));
      EXPECT_TRUE(test::matches(message.bytes(), size));
    }
    ASSERT_TRUE(ranks.progress_until([&] { return sent.value() == 100; }));
  }
  // The rank whose queue is full can still send.
  Counter arrived;
  const RemoteCompletion elsewhere = ranks.runtime(2).expose(arrived, {.id = 3});
  for (const std::size_t size : {std::size_t{8}, std::size_t{300}, std::size_t{3000}, std::size_t{20'000}}) {
    Counter sent;
    const auto other = payload(size, 1);
    ASSERT_TRUE(ranks.post(1, 2, elsewhere, other, {.completion = &sent}).has_value())
        << size << " bytes from its rank";
    ASSERT_TRUE(ranks.progress_until([&] { return sent.value() == 1; }));
  }
  // Emptied, it takes messages again, and none is lost.
  std::uint64_t popped = 0;
  Message message;
  ASSERT_TRUE(ranks.progress_until([&] {
    while (ignored.pop(message)) {
      EXPECT_TRUE(test::matches(message.bytes(), 1));
      ++popped;
    }
    return popped == accepted;
  }));
  ASSERT_TRUE(ranks.post(0, 1, stopped, bytes).has_value());
  ASSERT_TRUE(ranks.progress_until([&] { return ignored.pop(message); }));
}

template <class Queue>
void expect_senders_go_on() {
  // Whoever looks with empty() before every pop never pops an empty queue.
  Ranks<SerialEndpoint> ranks(2);
  const bool in_order = test::keeps_order(ranks.runtime(0));
  Queue queue({.capacity = 10});
  const RemoteCompletion remote = ranks.runtime(1).expose(queue, {.id = 1});
  std::uint64_t posted = 0;
  std::uint64_t popped = 0;
  ASSERT_TRUE(ranks.progress_until([&] {
    for (int burst = 0; burst < 50 && posted < 2000; ++burst)
      if (ranks.endpoint(0).post_am(1, remote, bytes_of(posted)).is_done()) ++posted;
    ranks.progress();
    Message message;
    while (!queue.empty()) {
      EXPECT_TRUE(queue.pop(message));
      if (in_order) {
        EXPECT_EQ(message.as<std::uint64_t>(), popped) << "one sender's messages stay in order in a queue";
      }
      ++popped;
    }
    return popped == 2000;
  })) << posted
      << " posted, " << popped << " popped: the queue is empty and its senders are still stopped";
}

TEST(FlowControl, senders_go_on_when_a_queue_is_emptied_without_a_pop_that_fails) {
  expect_senders_go_on<CompletionQueue>();
  expect_senders_go_on<SingleConsumerQueue>();
  expect_senders_go_on<SerialCompletionQueue>();
}

TEST(FlowControl, queues_of_any_initial_size_lose_nothing) {
  for (const std::uint32_t initial : {1U, 2U, 4U, 1024U})
    for (const std::uint32_t capacity : {1U, 2U, 3U, 100U}) {
      Ranks<Endpoint> ranks(2);
      const bool in_order = test::keeps_order(ranks.runtime(0));
      CompletionQueue queue({.capacity = capacity, .initial = initial});
      const RemoteCompletion remote = ranks.runtime(1).expose(queue, {.id = 1});
      std::uint64_t posted = 0;
      std::uint64_t popped = 0;
      ASSERT_TRUE(ranks.progress_until([&] {
        for (int burst = 0; burst < 20 && posted < 1000; ++burst)
          if (ranks.endpoint(0).post_am(1, remote, bytes_of(posted)).is_done()) ++posted;
        ranks.progress();
        Message message;
        while (queue.pop(message)) {
          if (in_order) {
            EXPECT_EQ(message.as<std::uint64_t>(), popped)
                << "initial " << initial << ", capacity " << capacity;
          }
          ++popped;
        }
        return posted == 1000 && (popped == 1000 || testing::Test::HasFailure());
      })) << "initial "
          << initial << ", capacity " << capacity << ": " << popped << " of " << posted;
      ASSERT_FALSE(HasFailure());
    }
}

TEST(FlowControl, a_consumer_that_waits_is_never_left_with_stopped_senders) {
  Ranks<Endpoint> ranks(2);
  CompletionQueue queue({.capacity = 2});
  const RemoteCompletion remote = ranks.runtime(1).expose(queue, {.id = 1});
  constexpr std::uint64_t kMessages = 20'000;
  std::atomic<bool> stop{false};
  std::thread progress([&] {
    while (!stop) ranks.endpoint(1).progress();
  });
  std::thread sender([&] {
    for (std::uint64_t next = 0; next < kMessages; ++next)
      static_cast<void>(ranks.endpoint(0).send_am(1, remote, bytes_of(next)));
  });
  std::uint64_t sum = 0;
  for (std::uint64_t next = 0; next < kMessages; ++next)
    sum += ranks.endpoint(1).wait(queue).as<std::uint64_t>();
  EXPECT_EQ(sum, kMessages * (kMessages - 1) / 2);
  sender.join();
  stop = true;
  progress.join();
}

TEST(FlowControl, handlers_that_answer_always_have_room_for_the_answer) {
  for (const std::size_t size : {std::size_t{8}, std::size_t{48}}) {
    Ranks<Endpoint> ranks(2, {{"lane_slots", "64"}, {"lane_slots_max", "64"}});
    Counter answers;
    const RemoteCompletion answer = ranks.runtime(0).expose(answers, {.id = 2});
    std::uint64_t refused = 0;
    std::uint64_t requests = 0;
    Handler serve([&](Message& message) {
      ++requests;
      if (ranks.endpoint(1).post_am(0, answer, message.bytes()).is_retry()) ++refused;
    });
    const RemoteCompletion request = ranks.runtime(1).expose(serve, {.id = 1});
    const auto bytes = payload(size, 1);
    // The asking rank posts and does not progress: answers pile up at the other until that stops taking
    // requests.
    std::uint64_t accepted = 0;
    for (int idle = 0; idle < 1000 && refused == 0; ++idle) {
      while (refused == 0 && ranks.endpoint(0).post_am(1, request, bytes).is_accepted()) {
        idle = 0;
        ASSERT_LT(++accepted, 1'000'000U) << "requests pile up without a bound";
      }
      ranks.endpoint(1).progress();
    }
    EXPECT_EQ(refused, 0U) << "answers that a handler could not post, of " << requests;
    ASSERT_TRUE(ranks.progress_until([&] { return answers.value() + refused == accepted; }))
        << answers.value() << " answers to " << accepted << " requests";
  }
}

TEST(FlowControl, ranks_that_ask_each_other_without_pause_get_all_answers) {
  Ranks<Endpoint> ranks(2);
  constexpr std::uint64_t kRequests = 50'000;
  std::uint64_t answered[2] = {};
  std::uint64_t lost = 0;
  RemoteCompletion request;
  RemoteCompletion answer;
  std::vector<std::unique_ptr<Completion>> handlers;
  for (int rank = 0; rank < 2; ++rank) {
    auto count = [&, rank](Message&) { ++answered[rank]; };
    handlers.push_back(std::make_unique<Handler<decltype(count)>>(count));
    answer = ranks.runtime(rank).expose(*handlers.back(), {.id = 2});
    auto serve = [&, rank](Message& message) {
      if (!ranks.endpoint(rank).post_am(message.peer(), answer, message.bytes()).is_accepted()) ++lost;
    };
    handlers.push_back(std::make_unique<Handler<decltype(serve)>>(serve));
    request = ranks.runtime(rank).expose(*handlers.back(), {.id = 1});
  }
  std::uint64_t posted[2] = {};
  ASSERT_TRUE(ranks.progress_until([&] {
    for (int rank = 0; rank < 2; ++rank)
      while (posted[rank] < kRequests &&
             ranks.endpoint(rank).post_am(1 - rank, request, bytes_of(posted[rank])).is_accepted())
        ++posted[rank];
    return answered[0] + answered[1] + lost == 2 * kRequests;
  })) << answered[0]
      << " and " << answered[1] << " answers to " << posted[0] << " and " << posted[1] << " requests";
  EXPECT_EQ(lost, 0U) << "answers refused by the backlog";
}

TEST(FlowControl, ranks_that_answer_each_request_several_times_do_not_wait_for_each_other) {
  // More answers than lanes and backlogs hold, on both sides: none may stop taking them.
  Ranks<Endpoint> ranks(
      2, {{"lane_slots", "64"}, {"lane_slots_max", "64"}, {"backlog", "64"}, {"backlog_peer", "16"}});
  constexpr std::uint64_t kRequests = 5'000;
  constexpr std::uint64_t kAnswersPerRequest = 3;
  std::uint64_t answered = 0;
  std::uint64_t lost = 0;
  RemoteCompletion request;
  RemoteCompletion answer;
  std::vector<std::unique_ptr<Completion>> handlers;
  for (int rank = 0; rank < 2; ++rank) {
    auto count = [&](Message&) { ++answered; };
    handlers.push_back(std::make_unique<Handler<decltype(count)>>(count));
    answer = ranks.runtime(rank).expose(*handlers.back(), {.id = 2});
    auto serve = [&, rank](Message& message) {
      for (std::uint64_t copy = 0; copy < kAnswersPerRequest; ++copy)
        if (!ranks.endpoint(rank).post_am(message.peer(), answer, message.bytes()).is_accepted()) ++lost;
    };
    handlers.push_back(std::make_unique<Handler<decltype(serve)>>(serve));
    request = ranks.runtime(rank).expose(*handlers.back(), {.id = 1});
  }
  std::uint64_t posted[2] = {};
  ASSERT_TRUE(ranks.progress_until([&] {
    for (int rank = 0; rank < 2; ++rank)
      while (posted[rank] < kRequests &&
             ranks.endpoint(rank).post_am(1 - rank, request, bytes_of(posted[rank])).is_accepted())
        ++posted[rank];
    return answered + lost == 2 * kRequests * kAnswersPerRequest;
  })) << answered
      << " answers to " << posted[0] << " and " << posted[1] << " requests";
  EXPECT_EQ(lost, 0U) << "answers refused by the backlog";
}

TEST(FlowControl, one_peers_backlog_does_not_delay_another) {
  Ranks<Endpoint> ranks(3, test::with_no_surprises({{"lane_slots", "64"},
                                                    {"lane_slots_max", "64"},
                                                    {"sim_slots", "64"},
                                                    {"backlog", "64"},
                                                    {"backlog_peer", "16"}}));
  Counter arrived[2];
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived[0], {.id = 1});
  ranks.runtime(2).expose(arrived[1], {.id = 1});
  ASSERT_TRUE(ranks.meet());
  std::uint64_t accepted = 0;
  Status status = Status::done();
  while ((status = ranks.endpoint(0).post_am(1, remote, {}, {.may_retry = false})).is_accepted()) ++accepted;
  EXPECT_EQ(status.reason(), Reason::backlog) << name_of(status.reason());
  EXPECT_GE(accepted, 62U + 16U);  // less than a quarter of a lane is not credited yet: the message of meet()
  for (std::uint64_t count = 1; count <= 500; ++count) {
    ASSERT_TRUE(ranks.endpoint(0).post_am(2, remote, {}, {.may_retry = false}).is_accepted());
    // Credits that rank 2 gives back are seen by progress of rank 0: how many there are is the network's
    // matter.
    ASSERT_TRUE(test::until([&] { return arrived[1].value() == count; },
                            [&] {
                              ranks.endpoint(0).progress();
                              ranks.endpoint(2).progress();
                            }));
  }
  ASSERT_TRUE(ranks.progress_until([&] { return arrived[0].value() == accepted; }));
}

}  // namespace
}  // namespace weft
