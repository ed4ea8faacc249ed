// Cancelling receives that wait in the backlog, and those that have left it.
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

namespace weft {
namespace {

using test::Ranks;
using test::Recorder;

constexpr std::uint64_t kTag = 2;

/// A receive that was refused for want of records, and waits in the backlog behind another one.
template <class EndpointType>
class QueuedReceive {
 public:
  explicit QueuedReceive(std::uint16_t engine) : engine_(engine) {
    while (ranks.runtime(0).counters().backlog_now == 0 && others_.size() < 1000)
      post(1, before_, others_.emplace_back());
    post(kTag, *ended, handle);
  }
  /// Cancels the other receives, so that this one leaves the backlog.
  void make_room() {
    for (const ReceiveHandle& other : others_) EXPECT_TRUE(ranks.endpoint(0).cancel(other));
    EXPECT_TRUE(ranks.progress_until([&] {
      return before_.messages.size() == others_.size() && ranks.runtime(0).counters().backlog_now == 0;
    }));
    for (const Message& message : before_.messages) EXPECT_EQ(message.outcome(), Outcome::cancelled);
  }
  [[nodiscard]] bool has_ended() {
    return ranks.progress_until([&] { return ended->ready(); });
  }
  [[nodiscard]] bool send() {
    return test::post_send(ranks, 1, 0, kTag, bytes_of(kValue), {.engine = engine_}).has_value();
  }

  static constexpr std::uint64_t kValue = 9;
  Ranks<EndpointType> ranks{2, {{"matching_records", "64"}}};
  std::uint64_t buffer = 0;
  std::unique_ptr<Recorder> ended = std::make_unique<Recorder>();
  ReceiveHandle handle;

 private:
  void post(std::uint64_t tag, Recorder& completion, ReceiveHandle& named) {
    EXPECT_TRUE(ranks.endpoint(0)
                    .post_receive(1, tag, mutable_bytes_of(buffer),
                                  {.completion = &completion,
                                   .user_data = &buffer,
                                   .engine = engine_,
                                   .may_retry = false,
                                   .handle = &named})
                    .is_posted());
    EXPECT_NE(named.generation, 0U);
  }

  const std::uint16_t engine_;
  std::deque<ReceiveHandle> others_;
  Recorder before_;
};

template <class EndpointType>
class CancelledReceives : public testing::Test {
 protected:
  /// Runs the test with a receive of an unordered and of an ordered engine.
  template <class Work>
  void with_each(const Work& work) {
    for (const std::uint16_t engine : {std::uint16_t{0}, std::uint16_t{256}}) {
      SCOPED_TRACE("engine " + std::to_string(engine));
      QueuedReceive<EndpointType> receive(engine);
      work(receive);
    }
  }
};
using Endpoints = testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(CancelledReceives, Endpoints);

TYPED_TEST(CancelledReceives, that_wait_in_the_backlog_end_with_progress) {
  this->with_each([](auto& receive) {
    EXPECT_TRUE(receive.ranks.endpoint(0).cancel(receive.handle));
    ASSERT_TRUE(receive.has_ended());
    EXPECT_EQ(receive.ended->messages[0].outcome(), Outcome::cancelled);
    EXPECT_EQ(receive.ended->messages[0].user_data(), &receive.buffer);
    EXPECT_FALSE(receive.ranks.endpoint(0).cancel(receive.handle)) << "it has ended";
    receive.make_room();
  });
}

TYPED_TEST(CancelledReceives, that_wait_in_the_backlog_end_with_their_completion_object) {
  this->with_each([](auto& receive) {
    const std::uint64_t before = receive.ranks.runtime(0).counters().backlog_now;
    receive.ended.reset();
    EXPECT_EQ(receive.ranks.runtime(0).counters().backlog_now, before - 1);
    EXPECT_FALSE(receive.ranks.endpoint(0).cancel(receive.handle));
    receive.make_room();
  });
}

TYPED_TEST(CancelledReceives, that_have_left_the_backlog_end_by_the_same_handle) {
  this->with_each([](auto& receive) {
    receive.make_room();
    EXPECT_TRUE(receive.ranks.endpoint(0).cancel(receive.handle));
    ASSERT_TRUE(receive.has_ended());
    EXPECT_EQ(receive.ended->messages[0].outcome(), Outcome::cancelled);
  });
}

TYPED_TEST(CancelledReceives, that_have_got_their_message_are_named_by_no_handle) {
  this->with_each([](auto& receive) {
    receive.make_room();
    ASSERT_TRUE(receive.send());
    ASSERT_TRUE(receive.has_ended());
    EXPECT_FALSE(receive.ranks.endpoint(0).cancel(receive.handle));
    EXPECT_EQ(receive.buffer, receive.kValue);
  });
}

}  // namespace
}  // namespace weft
