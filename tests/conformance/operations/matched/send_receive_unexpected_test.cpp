// Bursts of sends of which some meet receives and most come before them.
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
class UnexpectedSendsTest : public ::testing::Test {};
using Endpoints = ::testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(UnexpectedSendsTest, Endpoints);

/// A burst of sends from rank 0 to rank 1 and the receives of it.
template <class EndpointType>
class Burst {
 public:
  Burst(Ranks<EndpointType>& ranks, std::uint32_t seed) : ranks_(ranks), random_(seed) {
    std::uint64_t tag = 0;
    std::size_t size = 8;
    for (std::size_t number = 0; number < kMessages; ++number) {
      if (pick(4) == 0) tag = pick(3);
      if (pick(8) == 0) size = kSizes[pick(kSizes.size())];
      sends_.push_back({tag, size});
      by_tag_[tag].push_back(number);
    }
  }

  void run() {
    for (auto& [tag, numbers] : by_tag_)
      for (std::uint64_t count = std::min<std::uint64_t>(pick(4), numbers.size()); count != 0; --count)
        receive(tag);
    const std::size_t early = kMessages - receives_.size();
    for (std::size_t number = 0; number < kMessages; ++number)
      ASSERT_TRUE(post_send(ranks_, 0, 1, sends_[number].tag, test::payload(sends_[number].size, number)));
    ASSERT_TRUE(ranks_.progress_until([&] { return received_.messages.size() == kMessages - early; }));
    for (int round = 0; round < 50; ++round) ranks_.progress();
    while (receives_.size() != kMessages) {
      const std::uint64_t tag = pick(3);
      if (posted_[tag] != by_tag_[tag].size()) receive(tag);
    }
    ASSERT_TRUE(ranks_.progress_until([&] { return received_.messages.size() == kMessages; }));
    check();
  }

 private:
  static constexpr std::size_t kMessages = 120;
  // Of one slot, of several in which notes have room for them, and longer.
  static constexpr std::array<std::size_t, 14> kSizes{0,  1,   7,   8,   33,  40,   48,
                                                      64, 200, 144, 145, 480, 2088, 2100};
  struct Send {
    std::uint64_t tag;
    std::size_t size;
  };
  struct Receive {
    std::uint64_t tag = 0;
    std::vector<std::byte> buffer;
  };

  std::uint64_t pick(std::uint64_t below) { return random_() % below; }

  void receive(std::uint64_t tag) {
    Receive& each = receives_.emplace_back();
    each.tag = tag;
    each.buffer.resize(pick(10) == 0 ? 5 : pick(10) == 0 ? 100 : 2200);
    ReceiveHandle handle;
    ASSERT_TRUE(
        ranks_.endpoint(1)
            .post_receive(
                0, tag, each.buffer,
                {.completion = &received_, .user_data = &each, .handle = pick(5) == 0 ? &handle : nullptr})
            .is_posted());
    ++posted_[tag];
  }

  /// Under each tag messages and receives meet in their orders, if the network keeps that of messages.
  void check() const {
    const bool keeps_order = std::string(ranks_.runtime(0).network()) != "sim";
    std::map<const void*, const Message*> by_receive;
    for (const Message& message : received_.messages) by_receive[message.user_data()] = &message;
    ASSERT_EQ(by_receive.size(), kMessages);
    std::map<std::uint64_t, std::vector<std::size_t>> left = by_tag_;
    for (const Receive& receive : receives_) {
      const Message& message = *by_receive.at(&receive);
      EXPECT_EQ(message.tag(), receive.tag);
      EXPECT_EQ(message.peer(), 0);
      EXPECT_EQ(message.data(), receive.buffer.data());
      EXPECT_EQ(message.size(), std::min(message.length(), receive.buffer.size()));
      EXPECT_EQ(message.outcome(), message.size() < message.length() ? Outcome::truncated : Outcome::ok);
      std::vector<std::size_t>& numbers = left[receive.tag];
      const auto is_meant = [&](std::size_t number) {
        const std::vector<std::byte> sent = test::payload(sends_[number].size, number);
        return sent.size() == message.length() &&
               std::equal(receive.buffer.begin(),
                          receive.buffer.begin() + static_cast<std::ptrdiff_t>(message.size()), sent.begin());
      };
      const auto found =
          keeps_order ? numbers.begin() : std::find_if(numbers.begin(), numbers.end(), is_meant);
      ASSERT_NE(found, numbers.end());
      ASSERT_TRUE(is_meant(*found)) << "send " << *found << " with tag " << receive.tag;
      numbers.erase(found);
    }
  }

  Ranks<EndpointType>& ranks_;
  std::mt19937 random_;
  std::vector<Send> sends_;
  std::map<std::uint64_t, std::vector<std::size_t>> by_tag_;
  std::map<std::uint64_t, std::size_t> posted_;
  std::deque<Receive> receives_;
  Recorder received_;
};

TYPED_TEST(UnexpectedSendsTest, meet_their_receives_whole_and_in_order_whatever_comes_between) {
  Ranks<TypeParam> ranks(2);
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Burst<TypeParam>(ranks, seed).run();
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(UnexpectedSendsTest, take_and_return_every_credit) {
  constexpr std::uint64_t kCredits = 24;
  Ranks<TypeParam> ranks(2, {{"unexpected_credits", "24"}});
  std::array<std::uint64_t, 20> buffer{};
  for (std::uint64_t round = 0; round < 80; ++round) {
    const std::vector<std::byte> sent(round < 40 ? 8 : 160);
    for (std::uint64_t number = 0; number < kCredits; ++number) ASSERT_TRUE(post_send(ranks, 0, 1, 9, sent));
    for (int polls = 0; polls < 20; ++polls) ranks.progress();
    for (std::uint64_t number = 0; number < kCredits; ++number) {
      Recorder one;
      ASSERT_TRUE(ranks.endpoint(1)
                      .post_receive(0, 9, std::as_writable_bytes(std::span(buffer)), {.completion = &one})
                      .is_posted());
      ASSERT_TRUE(ranks.progress_until([&] { return one.ready(); })) << "round " << round;
    }
  }
}

/// After several messages that came before their receives, the next receives look for theirs first.
TYPED_TEST(UnexpectedSendsTest, leave_a_receive_its_options_and_its_place_when_none_has_come_for_it) {
  Ranks<TypeParam> ranks(2, test::kNoSurprises);
  std::uint64_t buffer = 0;
  const auto into = std::as_writable_bytes(std::span(&buffer, 1));
  std::uint64_t number = 0;
  const auto receive_unexpected = [&](int count) {
    for (int message = 0; message < count; ++message) {
      ASSERT_TRUE(post_send(ranks, 0, 1, 9, bytes_of(++number)));
      for (int polls = 0; polls < 50; ++polls) ranks.progress();
      Recorder one;
      ASSERT_TRUE(
          ranks.endpoint(1).post_receive(0, 9, into, {.completion = &one, .user_data = &buffer}).is_posted());
      ASSERT_EQ(one.messages.size(), 1U) << "it was there";
      EXPECT_EQ(one.messages[0].user_data(), &buffer);
      EXPECT_EQ(buffer, number);
    }
  };
  receive_unexpected(6);
  ASSERT_TRUE(post_send(ranks, 0, 1, 9, bytes_of(++number)));
  for (int polls = 0; polls < 50; ++polls) ranks.progress();
  Recorder unused;
  EXPECT_TRUE(ranks.endpoint(1)
                  .post_receive(0, 9, into, {.completion = &unused, .may_complete_now = true})
                  .is_done());
  EXPECT_TRUE(unused.messages.empty());
  EXPECT_EQ(buffer, number);
  receive_unexpected(6);
  // Another key, and then two receives of this one that wait for their messages.
  std::array<std::uint64_t, 3> late{};
  Recorder waiting;
  for (std::size_t place = 0; place < late.size(); ++place)
    ASSERT_TRUE(ranks.endpoint(1)
                    .post_receive(0, place == 0 ? 10 : 9, std::as_writable_bytes(std::span(&late[place], 1)),
                                  {.completion = &waiting, .user_data = &late[place]})
                    .is_posted());
  EXPECT_TRUE(waiting.messages.empty());
  for (const std::uint64_t tag : {9, 9, 10}) ASSERT_TRUE(post_send(ranks, 0, 1, tag, bytes_of(++number)));
  ASSERT_TRUE(ranks.progress_until([&] { return waiting.messages.size() == late.size(); }));
  EXPECT_EQ(late, (std::array<std::uint64_t, 3>{number, number - 2, number - 1}));
  for (const Message& message : waiting.messages) EXPECT_EQ(message.data(), message.user_data());
  receive_unexpected(6);
}

}  // namespace
}  // namespace weft
