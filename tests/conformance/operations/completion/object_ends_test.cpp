// Completion objects that end before what names them does.
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace weft {
namespace {

TEST(ObjectEnds, in_the_natural_order_of_declaration_cancel_the_receives_that_are_still_posted) {
  std::vector<std::byte> buffer(64);
  Runtime runtime;
  Endpoint endpoint{runtime};
  CompletionQueue queue;
  Handler handler{[](Message&) { ADD_FAILURE() << "nobody sends"; }};
  Counter counter;
  for (std::uint64_t tag = 0; tag < 3; ++tag) {
    ASSERT_TRUE(endpoint.post_receive(0, tag, buffer, {.completion = &queue}).is_posted());
    ASSERT_TRUE(endpoint.post_receive(0, tag + 10, buffer, {.completion = &handler}).is_posted());
    ASSERT_TRUE(
        endpoint.post_receive(0, tag, buffer, {.completion = &counter, .policy = MatchingPolicy::tag_only})
            .is_posted());
    ASSERT_TRUE(
        endpoint.post_receive(any_source, tag, buffer, {.completion = &queue, .engine = 256}).is_posted());
  }
}

TEST(ObjectEnds, leave_their_messages_to_the_receives_that_come_later) {
  Runtime runtime;
  Endpoint endpoint{runtime};
  std::uint64_t value = 7;
  std::uint64_t unused = 0;
  std::uint64_t received = 0;
  {
    CompletionQueue gone;
    ASSERT_TRUE(endpoint.post_receive(0, 5, mutable_bytes_of(unused), {.completion = &gone}).is_posted());
  }
  SingleConsumerQueue queue;
  ASSERT_TRUE(endpoint.post_receive(0, 5, mutable_bytes_of(received), {.completion = &queue}).is_posted());
  EXPECT_EQ(endpoint.send(0, 5, bytes_of(value)), Outcome::ok);
  EXPECT_EQ(endpoint.wait(queue).outcome(), Outcome::ok);
  EXPECT_EQ(received, 7U);
  EXPECT_EQ(unused, 0U);
}

TEST(ObjectEnds, cancel_no_receive_of_another_object) {
  Runtime runtime;
  Endpoint endpoint{runtime};
  std::uint64_t value = 7;
  std::uint64_t received[2] = {};
  Counter stays;
  ASSERT_TRUE(endpoint.post_receive(0, 1, mutable_bytes_of(received[0]), {.completion = &stays}).is_posted());
  for (int round = 0; round < 100; ++round) {
    Synchronizer gone{1};
    ASSERT_TRUE(
        endpoint.post_receive(0, 2, mutable_bytes_of(received[1]), {.completion = &gone}).is_posted());
  }
  EXPECT_EQ(endpoint.send(0, 1, bytes_of(value)), Outcome::ok);
  endpoint.wait(stays, 1);
  EXPECT_EQ(received[0], 7U);
}

}  // namespace
}  // namespace weft
