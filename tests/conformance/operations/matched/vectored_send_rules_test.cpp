// Sends of several buffers: order, misuse, and peers that have left.
#include "support/pieces.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::accepted;
using test::cuts_of;
using test::FilledPieces;
using test::Ranks;
using test::Recorder;
using test::SentPieces;

constexpr std::uint16_t kOrderedLists = 256;

TEST(VectoredSendsInOrder, mix_with_sends_of_one_buffer_and_wildcards) {
  Ranks<> ranks(2);
  constexpr std::uint64_t kMessages = 60;
  const auto size_of = [](std::uint64_t number) {
    constexpr std::size_t kSizes[] = {8, 300, 40'000, 41, 0};
    return kSizes[number % 5];
  };
  Recorder sent;
  Recorder received;
  std::vector<std::unique_ptr<SentPieces>> pieces;
  std::vector<std::unique_ptr<FilledPieces>> filled;
  for (std::uint64_t number = 0; number < kMessages; ++number) {
    const std::size_t size = size_of(number);
    pieces.push_back(std::make_unique<SentPieces>(
        number % 2 == 0 ? std::vector<std::size_t>{size} : cuts_of(size)[number % 5], number));
    ASSERT_TRUE(accepted(ranks, [&] {
      const SendOptions options{.completion = &sent, .engine = kOrderedLists};
      return number % 2 == 0 ? ranks.endpoint(0).post_send(1, number, pieces.back()->list.front(), options)
                             : ranks.endpoint(0).post_send(1, number, pieces.back()->list, options);
    }));
  }
  for (std::uint64_t number = 0; number < kMessages; ++number) {
    filled.push_back(std::make_unique<FilledPieces>(cuts_of(size_of(number))[(number + 1) % 5]));
    ASSERT_TRUE(accepted(ranks, [&] {
      return ranks.endpoint(1).post_receive(number % 3 == 0 ? any_source : 0, any_tag, filled.back()->list,
                                            {.completion = &received,
                                             .user_data = filled.back().get(),
                                             .engine = kOrderedLists,
                                             .may_retry = false});
    }));
  }
  ASSERT_TRUE(ranks.progress_until(
      [&] { return sent.messages.size() == kMessages && received.messages.size() == kMessages; }));
  for (const Message& message : received.messages) {
    const std::uint64_t number = message.tag();
    EXPECT_EQ(message.user_data(), filled[number].get()) << number;
    EXPECT_TRUE(filled[number]->hold(size_of(number), size_of(number), number)) << number;
  }
}

TEST(VectoredSendsRefused, say_what_is_wrong) {
  Ranks<> ranks(2);
  const std::array<Bytes, 2> parts{};
  const std::array<MutableBytes, 2> buffers{};
  Counter counter;
  const auto message_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(message_of([&] {
              static_cast<void>(ranks.endpoint(0).post_send(2, 0, parts));
            }).find("post_send: peer 2 is not a rank of this job"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              static_cast<void>(ranks.endpoint(0).post_send(1, 0, parts, {.engine = 512}));
            }).find("matching engine 512 is out of range"),
            std::string::npos);
  const std::array<Bytes, 2> huge{Bytes(static_cast<const std::byte*>(nullptr), std::size_t{1} << 62),
                                  Bytes(static_cast<const std::byte*>(nullptr), 1)};
  EXPECT_NE(message_of([&] {
              static_cast<void>(ranks.endpoint(0).post_send(1, 0, huge));
            }).find("more than 4611686018427387904 bytes together"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              static_cast<void>(ranks.endpoint(0).post_receive(1, 0, buffers, {}));
            }).find("a completion object is needed"),
            std::string::npos);
  EXPECT_NE(
      message_of([&] {
        static_cast<void>(ranks.endpoint(0).post_receive(any_source, 0, buffers, {.completion = &counter}));
      }).find("source -1 is not a rank"),
      std::string::npos);
  EXPECT_NE(
      message_of([&] {
        static_cast<void>(ranks.endpoint(0).post_receive(1, any_tag, buffers, {.completion = &counter}));
      }).find("ordered"),
      std::string::npos);
  EXPECT_EQ(counter.value(), 0U);
}

TEST(VectoredSendsTo, a_rank_that_has_left_end_as_peer_failed) {
  Ranks<> ranks(2);
  ASSERT_TRUE(ranks.meet());
  ranks.leave(1);
  for (const std::size_t size : {std::size_t{20}, std::size_t{5000}, std::size_t{1} << 20}) {
    SCOPED_TRACE(size);
    const SentPieces pieces(cuts_of(size)[3], size);
    Recorder sent;
    // Where ranks hear of each other by messages, what is sent before that is lost, and done.
    bool is_posted = false;
    ASSERT_TRUE(ranks.progress_until([&] {
      if (!is_posted)
        is_posted = ranks.endpoint(0)
                        .post_send(1, 0, pieces.list, {.completion = &sent, .may_complete_now = true})
                        .is_posted();
      return sent.ready();
    }));
    EXPECT_EQ(sent.messages[0].outcome(), Outcome::peer_failed);
  }
}

}  // namespace
}  // namespace weft
