// Handlers may post, and what is refused goes to the backlog, wherever their signal comes from: progress, a
// post whose operation ends at once, cancel(), a graph, an engine that is closed. progress() of their own
// device returns at once.
#include "support/matched.hpp"
#include "support/one_sided.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>

namespace weft {
namespace {

using test::Ranks;

/// Rank 1 does not progress while the handlers of rank 0 run, and its lanes are short.
const std::vector<AttributeSetting> kLittleRoom = {
    {"lane_slots", "64"}, {"lane_slots_max", "64"}, {"unexpected_credits", "16"}};
constexpr int kPosts = 200;  // of a handler: more than the lanes have room for

class HandlersPostWithoutRoom : public testing::Test {
 protected:
  /// What a handler does: everything that may be refused.
  void post_all() {
    const auto bytes = std::as_bytes(std::span(&word_, 1));
    for (int each = 0; each < kPosts; ++each) {
      refused_ += endpoint_.post_am(1, remote_, bytes).is_retry() ? 1 : 0;
      refused_ += endpoint_.post_send(1, 5, bytes).is_retry() ? 1 : 0;
    }
    progressed_ += endpoint_.progress();
    ++handled_;
  }
  /// That none was refused, and all arrive.
  void expect_arrivals() {
    EXPECT_GT(handled_, 0);
    EXPECT_EQ(refused_, 0);
    if (is_on_own_device_) {
      EXPECT_EQ(progressed_, 0U);
    }
    const auto expected = static_cast<std::uint64_t>(handled_) * kPosts;
    Counter received;
    std::uint64_t posted = 0;
    EXPECT_TRUE(ranks_.progress_until([&] {
      while (posted < expected && posted < received.value() + 8 &&
             ranks_.endpoint(1).post_receive(0, 5, buffer_, {.completion = &received}).is_posted())
        ++posted;
      return arrived_.value() == expected && received.value() == expected;
    })) << arrived_.value()
        << " and " << received.value() << " of " << expected;
  }
  /// Until a post of rank 0 to rank 1 is refused.
  void use_up_room() {
    const auto bytes = std::as_bytes(std::span(&word_, 1));
    while (!endpoint_.post_am(1, sink_, bytes).is_retry()) {
    }
  }

  Ranks<Endpoint> ranks_{2, kLittleRoom};
  Endpoint& endpoint_ = ranks_.endpoint(0);
  Counter arrived_;
  Counter sunk_;
  RemoteCompletion remote_ = ranks_.runtime(1).expose(arrived_, {.id = 1});
  RemoteCompletion sink_ = ranks_.runtime(1).expose(sunk_, {.id = 2});
  std::uint64_t word_ = 7;
  std::byte buffer_[8];
  int refused_ = 0;
  int handled_ = 0;
  std::size_t progressed_ = 0;
  bool is_on_own_device_ = true;
};

TEST_F(HandlersPostWithoutRoom, inside_a_put_that_ends_at_once) {
  const test::AccessSetting& setting = test::access_settings().front();
  const test::Target target(ranks_.runtime(1), setting, 64);
  const MappedRegion there = target.seen_by(ranks_.runtime(0), setting);
  Handler ended{[this](Message&) { post_all(); }};
  use_up_room();
  const auto bytes = std::as_bytes(std::span(&word_, 1));
  ASSERT_TRUE(ranks_.progress_until(
      [&] { return endpoint_.post_put(1, there.at(0), bytes, {.completion = &ended}).is_accepted(); }));
  ASSERT_TRUE(ranks_.progress_until([&] { return handled_ == 1; }));
  expect_arrivals();
}

TEST_F(HandlersPostWithoutRoom, inside_messages_that_have_left_at_once) {
  Handler ended{[this](Message&) { post_all(); }};
  const auto bytes = std::as_bytes(std::span(&word_, 1));
  // Two of them: the backlog has room for what their handlers post, and not for any number.
  for (int each = 0; each < 2; ++each)
    ASSERT_TRUE(ranks_.progress_until(
        [&] { return endpoint_.post_am(1, sink_, bytes, {.completion = &ended}).is_accepted(); }));
  ASSERT_TRUE(ranks_.progress_until([&] { return handled_ == 2; }));
  expect_arrivals();
}

TEST_F(HandlersPostWithoutRoom, inside_a_receive_of_a_message_that_was_there) {
  for (const std::uint16_t engine : {std::uint16_t{0}, static_cast<std::uint16_t>(kMatchingEngines)}) {
    ASSERT_TRUE(ranks_.progress_until(
        [&] { return ranks_.endpoint(1).post_send(0, 9, {}, {.engine = engine}).is_accepted(); }));
    ProbedMessage found;
    ASSERT_TRUE(ranks_.progress_until([&] { return endpoint_.probe(1, 9, found, {.engine = engine}); }));
  }
  Handler ended{[this](Message&) { post_all(); }};
  use_up_room();
  for (const std::uint16_t engine : {std::uint16_t{0}, static_cast<std::uint16_t>(kMatchingEngines)})
    ASSERT_TRUE(endpoint_.post_receive(1, 9, buffer_, {.completion = &ended, .engine = engine}).is_posted());
  EXPECT_EQ(handled_, 2);
  expect_arrivals();
}

TEST_F(HandlersPostWithoutRoom, inside_cancel) {
  Handler ended{[this](Message& message) {
    EXPECT_EQ(message.outcome(), Outcome::cancelled);
    post_all();
  }};
  ReceiveHandle handle;
  ASSERT_TRUE(endpoint_.post_receive(1, 9, buffer_, {.completion = &ended, .handle = &handle}).is_posted());
  use_up_room();
  EXPECT_TRUE(endpoint_.cancel(handle));
  EXPECT_EQ(handled_, 1);
  expect_arrivals();
}

TEST_F(HandlersPostWithoutRoom, inside_a_post_whose_time_is_over) {
  Handler ended{[this](Message& message) {
    EXPECT_EQ(message.outcome(), Outcome::timed_out);
    post_all();
  }};
  use_up_room();
  const auto bytes = std::as_bytes(std::span(&word_, 1));
  ASSERT_TRUE(
      endpoint_.post_am(1, sink_, bytes, {.completion = &ended, .timeout = std::chrono::nanoseconds(-1)})
          .is_posted());
  ASSERT_TRUE(test::until([&] { return handled_ == 1; }, [&] { endpoint_.progress(); }));
  expect_arrivals();
}

TEST_F(HandlersPostWithoutRoom, inside_the_end_of_an_engine) {
  // No device has to do with that, and none stands still meanwhile.
  is_on_own_device_ = false;
  Handler ended{[this](Message& message) {
    EXPECT_EQ(message.outcome(), Outcome::cancelled);
    post_all();
  }};
  {
    MatchingEngine engine{ranks_.runtime(0), {.id = 3}};
    ASSERT_TRUE(endpoint_.post_receive(1, 9, buffer_, {.completion = &ended, .engine = 3}).is_posted());
    use_up_room();
  }
  EXPECT_EQ(handled_, 1);
  expect_arrivals();
}

TEST_F(HandlersPostWithoutRoom, inside_the_end_of_a_graph) {
  is_on_own_device_ = false;
  Graph graph;
  graph.add_function([] {});
  Handler ended{[this](Message&) { post_all(); }};
  graph.set_completion(&ended);
  use_up_room();
  graph.start();
  EXPECT_EQ(handled_, 1);
  expect_arrivals();
}

TEST_F(HandlersPostWithoutRoom, inside_progress_of_another_device) {
  is_on_own_device_ = false;
  Device device{ranks_.runtime(0), {.index = 1}};
  Endpoint other{device};
  Handler ended{[this](Message&) { post_all(); }};
  const RemoteCompletion here = ranks_.runtime(0).expose(ended, {.id = 3, .device = 1});
  use_up_room();
  ASSERT_TRUE(ranks_.progress_until([&] { return other.post_am(0, here, {}).is_accepted(); }));
  ASSERT_TRUE(test::until([&] { return handled_ == 1; }, [&] { other.progress(); }));
  expect_arrivals();
}

}  // namespace
}  // namespace weft
