// What was accepted leaves although its rank makes no further progress call: whatever it does next.
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace weft {
namespace {

using test::matches;
using test::payload;
using test::Ranks;
using namespace std::chrono_literals;

constexpr std::size_t kMany = 300;

/// What a program may call right after its posts, and then nothing more of weft for long.
struct Next {
  const char* name;
  std::function<void(Ranks<SerialEndpoint>&, Counter& ended)> call;
};
void do_nothing(Ranks<SerialEndpoint>&, Counter&) {}

const std::vector<Next> kNext = {
    {"nothing", do_nothing},
    {"wait_counter", [](auto& ranks, Counter& ended) { ranks.endpoint(0).wait(ended, ended.value()); }},
    {"wait_until", [](auto& ranks, Counter&) { ranks.endpoint(0).wait_until([] { return true; }); }},
    {"wait_for",
     [](auto& ranks, Counter&) { EXPECT_TRUE(ranks.endpoint(0).wait_for([] { return true; }, 1s)); }},
    {"drained", [](auto& ranks, Counter&) { static_cast<void>(ranks.endpoint(0).drained()); }},
    {"pop",
     [](auto&, Counter&) {
       CompletionQueue queue;
       Message message;
       EXPECT_FALSE(queue.pop(message));
     }},
    {"object_that_ends", [](auto&, Counter&) { Counter counter; }},
};

class Leaving : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {
 protected:
  [[nodiscard]] std::size_t count() const { return std::get<0>(GetParam()); }
  /// Longer messages than a packet may need their sender to act.
  template <class Rank>
  [[nodiscard]] static std::size_t size_in(Rank& ranks) {
    return std::min(std::get<1>(GetParam()), ranks.endpoint(0).attributes().packet_bytes);
  }
  /// Only rank 1 progresses.
  template <class Rank, class Condition>
  [[nodiscard]] static bool arrives(Rank& ranks, const Condition& condition) {
    return test::until(condition, [&] { ranks.endpoint(1).progress(); });
  }
  template <class Rank>
  void post_sends(Rank& ranks, Counter& ended) {
    for (std::size_t tag = 0; tag < count(); ++tag) {
      const std::vector<std::byte> bytes = payload(size_in(ranks), tag);
      Counter one;
      ASSERT_TRUE(ranks.progress_until(
          [&] { return ranks.endpoint(0).post_send(1, tag, bytes, {.completion = &one}).is_accepted(); }));
      // The buffer is the program's again as soon as the message is done, which needs no peer.
      ASSERT_TRUE(test::until([&] { return one.value() == 1; }, [&] { ranks.endpoint(0).progress(); }));
      Message nothing;
      ended.signal(nothing);
    }
  }
  template <class Rank>
  void post_receives(Rank& ranks, std::vector<std::vector<std::byte>>& buffers, Counter& received) {
    buffers.assign(count(), std::vector<std::byte>(size_in(ranks)));
    for (std::size_t tag = 0; tag < count(); ++tag)
      ASSERT_TRUE(
          ranks.endpoint(1)
              .post_receive(0, tag, buffers[tag], {.completion = &received, .may_complete_now = false})
              .is_accepted());
  }
  void expect_all(const std::vector<std::vector<std::byte>>& buffers) {
    for (std::size_t tag = 0; tag < count(); ++tag) EXPECT_TRUE(matches(buffers[tag], tag)) << tag;
  }
};
INSTANTIATE_TEST_SUITE_P(messages, Leaving,
                         testing::Combine(testing::Values(1, 2, kMany), testing::Values(8, 400, 5000)));

/// Posts without waiting for anything, so that the last of them are staged.
template <class Rank>
void post_at_once(Rank& ranks, RemoteCompletion remote, std::size_t count, std::size_t size, Counter& done) {
  const std::vector<std::byte> bytes = payload(size, 7);
  for (std::size_t number = 0; number < count; ++number)
    while (ranks.endpoint(0).post_am(1, remote, bytes, {.completion = &done}).is_retry()) ranks.progress();
}

TEST_P(Leaving, active_messages_arrive_whatever_is_called_next) {
  for (const Next& next : kNext) {
    Ranks<SerialEndpoint> ranks(2);
    Counter inbox;
    Counter done;
    const RemoteCompletion remote = ranks.runtime(1).expose(inbox, {.id = 1});
    ASSERT_TRUE(ranks.meet());
    post_at_once(ranks, remote, count(), size_in(ranks), done);
    next.call(ranks, done);
    EXPECT_TRUE(arrives(ranks, [&] { return inbox.value() == count(); }))
        << next.name << ": " << inbox.value() << " of " << count();
    EXPECT_TRUE(ranks.progress_until([&] { return done.value() == count(); }));
  }
}

TEST_P(Leaving, sends_arrive_while_their_rank_does_nothing) {
  Ranks<Endpoint> ranks(2);
  ASSERT_TRUE(ranks.meet());
  Counter received;
  Counter ended;
  std::vector<std::vector<std::byte>> buffers;
  post_receives(ranks, buffers, received);
  post_sends(ranks, ended);
  ASSERT_TRUE(arrives(ranks, [&] { return received.value() == count(); })) << received.value();
  expect_all(buffers);
}

TEST_P(Leaving, messages_arrive_while_their_rank_waits_in_a_collective_of_the_runtime) {
  for (const bool gathers : {false, true}) {
    Ranks<Endpoint> ranks(2);
    Counter inbox;
    Counter done;
    const RemoteCompletion remote = ranks.runtime(1).expose(inbox, {.id = 1});
    ASSERT_TRUE(ranks.meet());
    const auto meet_in = [&](int rank) {
      std::array<std::byte, 2> all{};
      if (gathers)
        ranks.runtime(rank).allgather(std::span(all).first(1), all);
      else
        ranks.runtime(rank).barrier();
    };
    post_at_once(ranks, remote, count(), size_in(ranks), done);
    std::thread sender([&] { meet_in(0); });
    // The sender is not released before everything has come.
    EXPECT_TRUE(arrives(ranks, [&] { return inbox.value() == count(); })) << inbox.value();
    meet_in(1);
    sender.join();
  }
}

TEST_P(Leaving, messages_that_the_network_had_refused_arrive_while_their_rank_waits_in_a_barrier) {
  Ranks<Endpoint> ranks(2, test::with_no_surprises({{"lane_slots", "64"}, {"lane_slots_max", "64"}}));
  Counter inbox;
  const RemoteCompletion remote = ranks.runtime(1).expose(inbox, {.id = 1});
  ASSERT_TRUE(ranks.meet());
  const std::vector<std::byte> bytes = payload(size_in(ranks), 7);
  std::uint64_t accepted = 0;
  while (accepted < count() &&
         ranks.endpoint(0).post_am(1, remote, bytes, {.may_retry = false}).is_accepted())
    ++accepted;
  ASSERT_NE(accepted, 0U);
  std::thread sender([&] { ranks.runtime(0).barrier(); });
  EXPECT_TRUE(arrives(ranks, [&] { return inbox.value() == accepted; }))
      << inbox.value() << " of " << accepted;
  ranks.runtime(1).barrier();
  sender.join();
}

TEST_P(Leaving, puts_with_a_signal_arrive_while_their_rank_does_nothing) {
  Ranks<Endpoint> ranks(2);
  Counter signals;
  std::vector<std::byte> memory(size_in(ranks));
  MemoryRegion region(ranks.runtime(1), memory);
  const RemoteCompletion remote = ranks.runtime(1).expose(signals, {.id = 1});
  ASSERT_TRUE(ranks.meet());
  const std::vector<std::byte> bytes = payload(size_in(ranks), 9);
  Counter done;
  for (std::size_t number = 0; number < count(); ++number)
    while (ranks.endpoint(0)
               .post_put(1, region.remote().at(0), bytes, {.completion = &done, .signal = remote})
               .is_retry())
      ranks.progress();
  // Where the network has no immediates, the signal follows when the bytes are there.
  ASSERT_TRUE(ranks.progress_until([&] { return done.value() == count(); }));
  EXPECT_TRUE(arrives(ranks, [&] { return signals.value() == count(); })) << signals.value();
  EXPECT_TRUE(matches(memory, 9));
}

TEST_P(Leaving, messages_arrive_when_their_endpoint_is_destroyed) {
  Ranks<Endpoint> ranks(2);
  Counter inbox;
  Counter done;
  const RemoteCompletion remote = ranks.runtime(1).expose(inbox, {.id = 1});
  ASSERT_TRUE(ranks.meet());
  {
    Endpoint another(ranks.runtime(0));
    const std::vector<std::byte> bytes = payload(size_in(ranks), 7);
    for (std::size_t number = 0; number < count(); ++number)
      while (another.post_am(1, remote, bytes, {.completion = &done}).is_retry()) ranks.progress();
  }
  EXPECT_TRUE(arrives(ranks, [&] { return inbox.value() == count(); })) << inbox.value();
  EXPECT_TRUE(ranks.progress_until([&] { return done.value() == count(); }));
}

}  // namespace
}  // namespace weft
