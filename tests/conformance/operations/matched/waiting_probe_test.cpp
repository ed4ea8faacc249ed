// Probes that wait for a message.
#include "support/deadlines.hpp"
#include "support/errors.hpp"
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace weft {
namespace {

using test::expect_names;
using test::matches;
using test::payload;
using test::Ranks;
using test::Recorder;

constexpr std::uint16_t kOrderedProbes = 256;

template <class EndpointType>
class WaitingProbes : public testing::Test {
 protected:
  Ranks<EndpointType> ranks_{2};
};
using Endpoints = testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(WaitingProbes, Endpoints);

TYPED_TEST(WaitingProbes, find_messages_of_every_kind_as_they_come) {
  auto& ranks = this->ranks_;
  ASSERT_TRUE(ranks.meet());
  struct Case {
    std::uint16_t engine;
    int source;
    std::uint64_t tag;
    std::uint64_t mask;
  };
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  const Case cases[] = {{0, 0, 0x1207, kAll},
                        {kOrderedProbes, 0, 0x1207, kAll},
                        {kOrderedProbes, any_source, 0x1207, kAll},
                        {kOrderedProbes, 0, 0x1200, 0xff00},
                        {kOrderedProbes, any_source, 0x0007, 0x00ff},
                        {kOrderedProbes, any_source, any_tag, kAll}};
  for (const Case& each : cases)
    for (const std::size_t size : {std::size_t{8}, std::size_t{100'000}}) {
      std::atomic<bool> ends{false};
      const auto bytes = payload(size, size);
      Recorder sent;
      std::thread sender([&] {
        auto& endpoint = ranks.endpoint(0);
        while (
            !endpoint.post_send(1, 0x1207, bytes, {.completion = &sent, .engine = each.engine}).is_posted())
          endpoint.progress();
        while (!ends.load()) endpoint.progress();
      });
      auto& endpoint = ranks.endpoint(1);
      const ReceiveOptions options{.engine = each.engine, .tag_mask = each.mask};
      ProbedMessage found;
      EXPECT_EQ(endpoint.wait_probe(each.source, each.tag, found, options), Outcome::ok);
      EXPECT_EQ(found.peer, 0);
      EXPECT_EQ(found.tag, 0x1207U);
      EXPECT_EQ(found.length, size);
      MatchedMessage message;
      EXPECT_EQ(endpoint.wait_matched_probe(each.source, each.tag, message, options), Outcome::ok);
      ASSERT_TRUE(message);
      EXPECT_EQ(message.info().length, size);
      EXPECT_FALSE(endpoint.probe(0, 0x1207, found, {.engine = each.engine})) << "it was taken";
      std::vector<std::byte> buffer(size);
      Synchronizer received(1);
      ASSERT_TRUE(endpoint.post_receive(std::move(message), buffer, {.completion = &received}).is_posted());
      EXPECT_EQ(endpoint.wait(received)[0].outcome(), Outcome::ok);
      EXPECT_TRUE(matches(buffer, size));
      ends.store(true);
      sender.join();
      ASSERT_TRUE(ranks.progress_until([&] { return !sent.messages.empty(); }));
    }
}

TYPED_TEST(WaitingProbes, end_when_their_time_has_passed) {
  auto& ranks = this->ranks_;
  for (const std::uint16_t engine : {std::uint16_t{0}, kOrderedProbes})
    for (const auto timeout :
         {std::chrono::nanoseconds(test::kSoon), std::chrono::nanoseconds(test::kPassed)}) {
      ProbedMessage found;
      MatchedMessage message;
      const ReceiveOptions options{.engine = engine, .timeout = timeout};
      EXPECT_EQ(ranks.endpoint(1).wait_probe(0, 5, found, options), Outcome::timed_out);
      EXPECT_EQ(ranks.endpoint(1).wait_matched_probe(0, 5, message, options), Outcome::timed_out);
      EXPECT_FALSE(message);
    }
  ProbedMessage found;
  EXPECT_EQ(ranks.endpoint(1).wait_probe(any_source, any_tag, found,
                                         {.engine = kOrderedProbes, .timeout = test::kPassed}),
            Outcome::timed_out);
}

TYPED_TEST(WaitingProbes, name_the_call_when_its_arguments_are_wrong) {
  auto& endpoint = this->ranks_.endpoint(1);
  ProbedMessage found;
  MatchedMessage message;
  expect_names(test::error_of([&] { static_cast<void>(endpoint.wait_probe(9, 5, found)); }),
               {"wait_probe: source 9 is not a rank of this job"});
  expect_names(test::error_of([&] { static_cast<void>(endpoint.wait_matched_probe(9, 5, message)); }),
               {"wait_matched_probe: source 9 is not a rank of this job"});
  expect_names(test::error_of([&] { static_cast<void>(endpoint.wait_probe(0, any_tag, found, {})); }),
               {"wait_probe: any_tag on matching engine 0"});
}

}  // namespace
}  // namespace weft
