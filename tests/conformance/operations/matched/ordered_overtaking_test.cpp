// Ordered engines: a send of whatever size stays behind one that was posted before it and is queued.
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {
namespace {

using test::Ranks;
using test::Recorder;

constexpr std::uint16_t kOvertakingEngine = kMatchingEngines + 1;
constexpr std::size_t kRequests = 16;       // the fewest there can be
constexpr std::size_t kAnnounced = 60'000;  // needs a request

template <class EndpointType>
class OrderedOvertaking : public ::testing::Test {
 protected:
  /// Sends `sizes` in turn, none of which may be refused, and receives them by any tag.
  static void send_and_receive(Ranks<EndpointType>& ranks, const std::vector<std::size_t>& sizes,
                               bool receives_first) {
    std::vector<std::vector<std::byte>> payloads;
    std::vector<std::vector<std::byte>> buffers;
    for (const std::size_t size : sizes) {
      payloads.push_back(test::payload(size, payloads.size()));
      buffers.emplace_back(kAnnounced);
    }
    Recorder sent;
    Recorder received;
    const auto post = [&] {
      for (std::vector<std::byte>& buffer : buffers)
        ASSERT_TRUE(ranks.endpoint(1)
                        .post_receive(any_source, any_tag, buffer,
                                      {.completion = &received,
                                       .user_data = &buffer,
                                       .engine = kOvertakingEngine,
                                       .may_retry = false})
                        .is_accepted());
    };
    if (receives_first) post();
    // None progresses in between: what is queued stays queued.
    for (std::uint64_t number = 0; number < payloads.size(); ++number)
      ASSERT_TRUE(ranks.endpoint(0)
                      .post_send(1, number, payloads[number],
                                 {.completion = &sent, .engine = kOvertakingEngine, .may_retry = false})
                      .is_accepted());
    if (!receives_first) post();
    ASSERT_TRUE(ranks.progress_until(
        [&] { return received.messages.size() == sizes.size() && sent.messages.size() == sizes.size(); }));
    for (const Message& message : received.messages) {
      const auto& buffer = *static_cast<const std::vector<std::byte>*>(message.user_data());
      const auto place = static_cast<std::uint64_t>(&buffer - buffers.data());
      EXPECT_EQ(message.tag(), place) << "another message was first";
      ASSERT_EQ(message.size(), sizes[place]);
      EXPECT_TRUE(test::matches(message.bytes(), place));
    }
  }
};
using Endpoints = ::testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(OrderedOvertaking, Endpoints);

TYPED_TEST(OrderedOvertaking, sends_of_any_size_stay_behind_one_that_waits_for_a_request) {
  Ranks<TypeParam> ranks(2, {{"requests", "16"}});
  // The lane knows the stream: short sends take the fast path of their size.
  this->send_and_receive(ranks, {8, 64, 8, 512, 4096}, false);
  for (const bool receives_first : {false, true})
    for (const std::size_t size :
         {std::size_t{8}, std::size_t{64}, std::size_t{300}, std::size_t{2000}, std::size_t{4096}}) {
      std::vector<std::size_t> sizes(kRequests + 1, kAnnounced);  // the last has no request
      sizes.insert(sizes.end(), {size, 8, size});
      this->send_and_receive(ranks, sizes, receives_first);
    }
}

TYPED_TEST(OrderedOvertaking, sends_of_several_slots_stay_behind_ones_that_wait_for_credits) {
  Ranks<TypeParam> ranks(2, {{"unexpected_credits", "8"}, {"lane_slots", "64"}});
  std::vector<std::size_t> sizes;
  for (std::size_t number = 0; number < 60; ++number)
    sizes.push_back(number % 7 == 0 ? 3000 : number % 3 == 0 ? 8 : 64 + number * 20);
  for (const bool receives_first : {false, true}) this->send_and_receive(ranks, sizes, receives_first);
}

}  // namespace
}  // namespace weft
