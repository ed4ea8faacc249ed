// Receives and probes on ordered engines for which a part of the tag is a wildcard.
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace weft {
namespace {

using test::Ranks;
using test::Recorder;

constexpr std::uint16_t kMaskedEngine = 256;

template <class EndpointType>
class OrderedTagMask : public ::testing::Test {};
using Endpoints = ::testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(OrderedTagMask, Endpoints);

// Against a plain list of what has been posted and of what has come.
TYPED_TEST(OrderedTagMask, a_tag_mask_makes_a_part_of_the_tag_a_wildcard) {
  Ranks<TypeParam> ranks(2);
  constexpr std::uint64_t kCount = 400;
  struct Wanted {
    std::uint64_t tag;
    std::uint64_t mask;
    bool is_taken = false;
  };
  constexpr std::array<std::uint64_t, 4> kMasks{~std::uint64_t{0}, 0xff00, 0x00ff, 0};
  std::mt19937 random(5);
  const auto tag_of = [&] { return std::uint64_t{random() % 3} << 8 | random() % 3; };
  std::vector<Wanted> wanted(kCount);
  std::vector<std::array<std::byte, 8>> rooms(kCount);
  Recorder received;
  Recorder sent;
  std::size_t posted = 0;
  // Some receives wait for their messages, and some messages for their receives.
  std::vector<std::uint64_t> unexpected;
  std::vector<std::pair<std::uint64_t, std::size_t>> matched;  // number of the message, receive
  std::vector<std::uint64_t> tags;
  const auto fits = [](const Wanted& receive, std::uint64_t tag) {
    return ((receive.tag ^ tag) & receive.mask) == 0;
  };
  while (tags.size() < kCount || posted < kCount) {
    const bool posts = posted < kCount && (tags.size() == kCount || random() % 2 == 0);
    if (posts) {
      Wanted& receive = wanted[posted] = {tag_of(), kMasks[random() % kMasks.size()]};
      const auto message = std::find_if(unexpected.begin(), unexpected.end(),
                                        [&](std::uint64_t number) { return fits(receive, tags[number]); });
      if (message != unexpected.end()) {
        matched.emplace_back(*message, posted);
        receive.is_taken = true;
        unexpected.erase(message);
      }
      ASSERT_TRUE(ranks.endpoint(1)
                      .post_receive(0, receive.tag, rooms[posted],
                                    {.completion = &received,
                                     .user_data = &rooms[posted],
                                     .engine = kMaskedEngine,
                                     .tag_mask = receive.mask})
                      .is_accepted());
      ++posted;
    } else {
      const std::uint64_t number = tags.size();
      tags.push_back(tag_of());
      std::size_t place = 0;
      while (place < posted && (wanted[place].is_taken || !fits(wanted[place], tags.back()))) ++place;
      if (place < posted) {
        matched.emplace_back(number, place);
        wanted[place].is_taken = true;
      } else {
        unexpected.push_back(number);
      }
      const std::size_t ended = sent.messages.size();
      ASSERT_TRUE(test::until(
          [&] {
            return ranks.endpoint(0)
                .post_send(1, tags.back(), std::as_bytes(std::span(&number, 1)),
                           {.completion = &sent, .engine = kMaskedEngine})
                .is_accepted();
          },
          [&] { ranks.progress(); }));
      ASSERT_TRUE(ranks.progress_until([&] { return sent.messages.size() == ended + 1; }));
      for (int step = 0; step < 50; ++step) ranks.progress();
    }
  }
  ASSERT_TRUE(ranks.progress_until([&] { return received.messages.size() == matched.size(); }));
  for (const auto& [number, place] : matched) {
    std::uint64_t got = 0;
    std::memcpy(&got, rooms[place].data(), sizeof got);
    EXPECT_EQ(got, number) << "receive " << place;
  }
  // Probes know it as well.
  if (!unexpected.empty()) {
    ProbedMessage found;
    ASSERT_TRUE(ranks.endpoint(1).probe(0, 0, found, {.engine = kMaskedEngine, .tag_mask = 0}));
    EXPECT_EQ(found.tag, tags[unexpected.front()]);
  }
  EXPECT_THROW(static_cast<void>(
                   ranks.endpoint(1).post_receive(0, 1, rooms[0], {.completion = &received, .tag_mask = 1})),
               Error);
}

TYPED_TEST(OrderedTagMask, holds_for_receives_that_are_prepared) {
  Ranks<TypeParam> ranks(2);
  Recorder received;
  std::array<std::byte, 8> room{};
  auto receive = ranks.endpoint(1).prepare_receive(
      0, 0x700, room, {.completion = &received, .engine = kMaskedEngine, .tag_mask = 0xff00});
  for (const std::uint64_t tag : {0x703, 0x700}) {
    ASSERT_TRUE(receive.start().is_accepted());
    const std::size_t before = received.messages.size();
    ASSERT_TRUE(test::until(
        [&] { return ranks.endpoint(0).post_send(1, tag, room, {.engine = kMaskedEngine}).is_accepted(); },
        [&] { ranks.progress(); }));
    ASSERT_TRUE(ranks.progress_until([&] { return received.messages.size() == before + 1; }));
    EXPECT_EQ(received.messages.back().tag(), tag);
  }
  EXPECT_THROW(static_cast<void>(ranks.endpoint(1).prepare_receive(
                   0, 7, room, {.completion = &received, .tag_mask = 0xff00})),
               Error);
}

}  // namespace
}  // namespace weft
