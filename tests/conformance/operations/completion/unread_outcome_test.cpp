// Failures that nobody reads are told on standard error, once each; those that are read are not.
#include "core/completion/unread_outcome.hpp"
#include "support/ranks.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace weft {
namespace {

using test::Ranks;

/// Messages of 40 bytes for receives with room for 8, which end as truncated.
class UnreadOutcome : public testing::Test {
 protected:
  using Use = std::function<void(std::uint64_t tag)>;

  void SetUp() override { detail::report_unread_outcomes_anew(); }

  /// What is told meanwhile.
  std::string told_of(const Use& use) {
    const std::uint64_t tag = ++tag_;
    const auto bytes = test::payload(40, tag);
    EXPECT_TRUE(
        ranks_.progress_until([&] { return ranks_.endpoint(0).post_send(1, tag, bytes).is_accepted(); }));
    testing::internal::CaptureStderr();
    use(tag);
    return testing::internal::GetCapturedStderr();
  }
  [[nodiscard]] Endpoint& receiver() { return ranks_.endpoint(1); }
  void receive(std::uint64_t tag, Completion& completion) {
    ASSERT_TRUE(ranks_.progress_until([&] {
      return receiver()
          .post_receive(0, tag, mutable_bytes_of(word_), {.completion = &completion})
          .is_accepted();
    }));
  }
  [[nodiscard]] Message received(std::uint64_t tag) {
    CompletionQueue queue;
    receive(tag, queue);
    Message message;
    EXPECT_TRUE(ranks_.progress_until([&] { return queue.pop(message); }));
    return message;
  }
  static void expect_told(const std::string& told) {
    EXPECT_NE(told.find("a receive from rank 0 has ended as "), std::string::npos) << told;
    EXPECT_NE(told.find("truncated (40 bytes were sent, there was room for 8)"), std::string::npos) << told;
    EXPECT_EQ(told.find('\n'), told.size() - 1) << "one line: " << told;
  }

  Ranks<Endpoint> ranks_{2};
  std::uint64_t word_ = 0;
  std::uint64_t tag_ = 0;
};

TEST_F(UnreadOutcome, of_a_message_that_is_dropped_or_overwritten_is_told) {
  expect_told(told_of([&](std::uint64_t tag) { static_cast<void>(received(tag)); }));
  Message kept;
  EXPECT_EQ(told_of([&](std::uint64_t tag) { kept = received(tag); }), "");
  expect_told(told_of([&](std::uint64_t tag) {
    Message other = received(tag);
    EXPECT_EQ(other.outcome(), Outcome::truncated);
    kept = std::move(other);  // what it had before was not read
  }));
}

TEST_F(UnreadOutcome, that_was_read_is_not_told) {
  EXPECT_EQ(told_of([&](std::uint64_t tag) { EXPECT_EQ(received(tag).outcome(), Outcome::truncated); }), "");
  EXPECT_EQ(told_of([&](std::uint64_t tag) { EXPECT_EQ(received(tag).length(), 40U); }), "");
  EXPECT_EQ(told_of([&](std::uint64_t tag) {
              Message first = received(tag);
              const Message moved = std::move(first);
              EXPECT_EQ(moved.outcome(), Outcome::truncated);
              EXPECT_EQ(moved.outcome(), Outcome::truncated) << "reading changes nothing";
            }),
            "");
}

TEST_F(UnreadOutcome, in_a_handler_is_told_unless_the_handler_reads_it) {
  int count = 0;
  Handler careless{[&](Message&) { ++count; }};
  expect_told(told_of([&](std::uint64_t tag) {
    receive(tag, careless);
    EXPECT_TRUE(ranks_.progress_until([&] { return count == 1; }));
  }));
  Handler careful{[&](Message& message) { count += message.outcome() == Outcome::truncated ? 1 : 0; }};
  EXPECT_EQ(told_of([&](std::uint64_t tag) {
              receive(tag, careful);
              EXPECT_TRUE(ranks_.progress_until([&] { return count == 2; }));
            }),
            "");
}

TEST_F(UnreadOutcome, that_a_counter_has_counted_is_told) {
  Counter counter;
  // In both orders: the message waits for its receive, and the receive for its message.
  expect_told(told_of([&](std::uint64_t tag) {
    receive(tag, counter);
    EXPECT_TRUE(ranks_.progress_until([&] { return counter.value() == 1; }));
  }));
  testing::internal::CaptureStderr();
  receive(1000, counter);
  const auto bytes = test::payload(40, 1);
  EXPECT_TRUE(
      ranks_.progress_until([&] { return ranks_.endpoint(0).post_send(1, 1000, bytes).is_accepted(); }));
  EXPECT_TRUE(ranks_.progress_until([&] { return counter.value() == 2; }));
  expect_told(testing::internal::GetCapturedStderr());
}

TEST_F(UnreadOutcome, in_a_synchronizer_is_told_at_the_end_of_the_round) {
  Synchronizer synchronizer;
  EXPECT_EQ(told_of([&](std::uint64_t tag) {
              receive(tag, synchronizer);
              EXPECT_TRUE(ranks_.progress_until([&] { return synchronizer.ready(); }));
            }),
            "");
  testing::internal::CaptureStderr();
  synchronizer.reset();
  expect_told(testing::internal::GetCapturedStderr());
}

TEST_F(UnreadOutcome, of_a_graph_is_told_before_the_next_run) {
  Graph graph;
  graph.add_receive(receiver(), 0, tag_ + 1, mutable_bytes_of(word_));
  EXPECT_EQ(told_of([&](std::uint64_t) {
              graph.start();
              EXPECT_TRUE(ranks_.progress_until([&] { return graph.test(); }));
            }),
            "");
  testing::internal::CaptureStderr();
  graph.start();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("a graph has ended as truncated"), std::string::npos);
  EXPECT_EQ(told_of([&](std::uint64_t) {
              EXPECT_TRUE(ranks_.progress_until([&] {
                static_cast<void>(ranks_.endpoint(0).post_send(1, tag_ - 1, test::payload(40, 2)));
                return graph.test();
              }));
              EXPECT_EQ(graph.outcome(), Outcome::truncated);
            }),
            "");
}

TEST_F(UnreadOutcome, of_a_cancelled_receive_is_what_was_asked_for) {
  ReceiveHandle handle;
  testing::internal::CaptureStderr();
  {
    CompletionQueue queue;
    ASSERT_TRUE(receiver()
                    .post_receive(0, 7, mutable_bytes_of(word_), {.completion = &queue, .handle = &handle})
                    .is_accepted());
    EXPECT_TRUE(receiver().cancel(handle));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace weft
