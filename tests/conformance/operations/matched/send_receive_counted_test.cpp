// Receives that objects count which look at no Message, among others that want one.
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::post_send;
using test::Ranks;
using test::Recorder;

template <class EndpointType>
class CountedReceives : public ::testing::Test {};
using Endpoints = ::testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(CountedReceives, Endpoints);

/// A counter of a user.
class Tally final : public Completion {
 public:
  Tally() : Completion(CountsOnly{}) {}
  ~Tally() override { withdraw(); }
  void signal(Message&) noexcept override { signal_count(1); }
  void signal_count(std::uint64_t count) noexcept override {
    value += count;
    notify_waiters();
  }
  [[nodiscard]] bool ready() const noexcept override { return value != 0; }
  std::uint64_t value = 0;  // of one thread
};

struct Receive {
  std::uint64_t tag = 0;
  std::size_t number = 0;  // of the send that it is to get
  std::vector<std::byte> buffer;
};

TYPED_TEST(CountedReceives, get_their_payloads_and_are_counted_once_beside_others_that_get_a_message) {
  constexpr std::size_t kMessages = 150;
  constexpr std::array<std::size_t, 8> kSizes{0, 1, 7, 8, 33, 40, 200, 9000};
  Ranks<TypeParam> ranks(2, test::kNoSurprises);
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto pick = [&](std::size_t below) { return random() % below; };
    Counter counter;
    Tally tally;
    Recorder recorder;
    const std::array<Completion*, 3> objects{&counter, &tally, &recorder};
    std::array<std::uint64_t, 3> expected{};
    std::deque<Receive> receives;
    std::vector<std::size_t> sizes;
    std::uint64_t tag = 0;
    std::size_t size = 8;
    std::size_t object = 0;
    const std::size_t posted_first = pick(kMessages + 1);  // the others come after their messages
    const auto post = [&](Receive& receive) {
      if (pick(6) == 0) object = pick(objects.size());
      ++expected[object];
      ASSERT_TRUE(ranks.endpoint(1)
                      .post_receive(0, receive.tag, receive.buffer,
                                    {.completion = objects[object], .user_data = &receive})
                      .is_posted());
    };
    for (std::size_t number = 0; number < kMessages; ++number) {
      if (pick(10) == 0) tag = pick(2);
      if (pick(10) == 0) size = kSizes[pick(kSizes.size())];
      sizes.push_back(size);
      receives.push_back({tag, number, std::vector<std::byte>(pick(10) == 0 ? 5 : 10'000)});
      if (number < posted_first) post(receives.back());
    }
    for (std::size_t number = 0; number < kMessages; ++number)
      ASSERT_TRUE(
          post_send(ranks, 0, 1, receives[number].tag, test::payload(sizes[number], number)).has_value());
    for (int polls = 0; polls < 20; ++polls) ranks.progress();
    for (std::size_t number = posted_first; number < kMessages; ++number) post(receives[number]);
    const auto all = [&] { return counter.value() + tally.value + recorder.messages.size(); };
    ASSERT_TRUE(ranks.progress_until([&] { return all() >= kMessages; }));
    for (int polls = 0; polls < 20; ++polls) ranks.progress();
    EXPECT_EQ(counter.value(), expected[0]);
    EXPECT_EQ(tally.value, expected[1]);
    EXPECT_EQ(recorder.messages.size(), expected[2]);
    for (const Receive& receive : receives) {
      const std::vector<std::byte> sent = test::payload(sizes[receive.number], receive.number);
      const std::size_t fits = std::min(sent.size(), receive.buffer.size());
      ASSERT_TRUE(
          std::equal(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(fits), receive.buffer.begin()))
          << "message " << receive.number;
      ASSERT_TRUE(std::all_of(receive.buffer.begin() + static_cast<std::ptrdiff_t>(fits),
                              receive.buffer.end(), [](std::byte byte) { return byte == std::byte{0}; }))
          << "beyond message " << receive.number;
    }
    for (const Message& message : recorder.messages) {
      const Receive& receive = *static_cast<const Receive*>(message.user_data());
      EXPECT_EQ(message.length(), sizes[receive.number]);
      EXPECT_EQ(message.tag(), receive.tag);
      EXPECT_EQ(message.data(), receive.buffer.data());
      EXPECT_EQ(message.outcome(), message.size() < message.length() ? Outcome::truncated : Outcome::ok);
    }
  }
}

TYPED_TEST(CountedReceives, that_were_cancelled_are_counted_and_not_filled) {
  Ranks<TypeParam> ranks(2, test::kNoSurprises);
  Counter counter;
  constexpr std::uint64_t kReceives = 40;
  std::array<std::uint64_t, kReceives> buffers{};
  std::array<ReceiveHandle, kReceives> handles;
  for (std::uint64_t number = 0; number < kReceives; ++number)
    ASSERT_TRUE(ranks.endpoint(1)
                    .post_receive(0, 3, std::as_writable_bytes(std::span(&buffers[number], 1)),
                                  {.completion = &counter, .handle = &handles[number]})
                    .is_posted());
  std::uint64_t cancelled = 0;
  for (std::uint64_t number = 0; number < kReceives; number += 5, ++cancelled)
    EXPECT_TRUE(ranks.endpoint(1).cancel(handles[number]));
  EXPECT_EQ(counter.value(), cancelled);
  for (std::uint64_t number = 1; number <= kReceives - cancelled; ++number)
    ASSERT_TRUE(post_send(ranks, 0, 1, 3, bytes_of(number)).has_value());
  ASSERT_TRUE(ranks.progress_until([&] { return counter.value() == kReceives; }));
  std::uint64_t last = 0;
  for (std::uint64_t number = 0; number < kReceives; ++number) {
    if (number % 5 == 0)
      EXPECT_EQ(buffers[number], 0U);
    else
      EXPECT_EQ(buffers[number], ++last);
    EXPECT_FALSE(ranks.endpoint(1).cancel(handles[number])) << "it has ended";
  }
}

}  // namespace
}  // namespace weft
