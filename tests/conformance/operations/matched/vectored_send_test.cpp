// Sends of several buffers, and receives into several.
#include "support/parts.hpp"
#include "support/pieces.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::accepted;
using test::cuts_of;
using test::FilledPieces;
using test::parts_settings;
using test::Ranks;
using test::Recorder;
using test::SentPieces;

constexpr std::uint16_t kOrderedEngine = 256;

class VectoredSends : public testing::TestWithParam<std::tuple<std::size_t, std::uint16_t>> {
 protected:
  [[nodiscard]] std::vector<AttributeSetting> attributes() const {
    return parts_settings()[std::get<0>(GetParam())].attributes;
  }
  [[nodiscard]] static std::uint16_t engine() { return std::get<1>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(over, VectoredSends,
                         testing::Combine(testing::Range<std::size_t>(0, parts_settings().size()),
                                          testing::Values<std::uint16_t>(0, kOrderedEngine)),
                         [](const auto& setting) {
                           return std::string(parts_settings()[std::get<0>(setting.param)].name) +
                                  (std::get<1>(setting.param) == 0 ? "" : "_ordered");
                         });

std::size_t total_of(const std::vector<std::size_t>& sizes) {
  std::size_t total = 0;
  for (const std::size_t size : sizes) total += size;
  return total;
}

void expect_message(const Message& message, std::size_t length, const FilledPieces& room, Outcome outcome) {
  EXPECT_EQ(message.operation(), Operation::receive);
  EXPECT_EQ(message.outcome(), outcome);
  EXPECT_EQ(message.peer(), 0);
  EXPECT_EQ(message.length(), length);
  if (room.list.empty()) return;
  EXPECT_EQ(message.data(), room.list.front().data());
  EXPECT_EQ(message.size(), std::min(length, room.list.front().size()));
}

/// One message, cut in one way and received in another, which may have less room or more.
template <class EndpointType>
void expect_exchange(Ranks<EndpointType>& ranks, std::uint16_t engine, const std::vector<std::size_t>& cut,
                     const std::vector<std::size_t>& room, bool is_unexpected) {
  const std::size_t size = total_of(cut);
  const std::size_t space = total_of(room);
  const SentPieces pieces(cut, size);
  FilledPieces filled(room);
  Recorder sent;
  Recorder received;
  int mark = 0;
  const auto receive = [&] {
    return accepted(ranks, [&] {
      return ranks.endpoint(1).post_receive(0, 5, filled.list,
                                            {.completion = &received, .user_data = &mark, .engine = engine});
    });
  };
  if (is_unexpected) {
    ASSERT_TRUE(receive());
  }
  ASSERT_TRUE(accepted(ranks, [&] {
    return ranks.endpoint(0).post_send(1, 5, pieces.list,
                                       {.completion = &sent, .user_data = &mark, .engine = engine});
  }));
  if (!is_unexpected) {
    ProbedMessage found;
    ASSERT_TRUE(
        ranks.progress_until([&] { return ranks.endpoint(1).probe(0, 5, found, {.engine = engine}); }));
    EXPECT_EQ(found.length, size);
    ASSERT_TRUE(receive());
  }
  ASSERT_TRUE(ranks.progress_until([&] { return sent.ready() && received.ready(); }));
  ASSERT_EQ(received.messages.size(), 1U);
  expect_message(received.messages[0], size, filled, space < size ? Outcome::truncated : Outcome::ok);
  EXPECT_EQ(received.messages[0].tag(), 5U);
  EXPECT_EQ(received.messages[0].user_data(), &mark);
  EXPECT_TRUE(filled.hold(size, std::min(size, space), size));
  ASSERT_EQ(sent.messages.size(), 1U);
  EXPECT_EQ(sent.messages[0].operation(), Operation::send);
  EXPECT_EQ(sent.messages[0].outcome(), Outcome::ok);
  EXPECT_EQ(sent.messages[0].user_data(), &mark);
}

template <class EndpointType>
void expect_every_cut_meets_every_other(const std::vector<AttributeSetting>& attributes,
                                        std::uint16_t engine) {
  Ranks<EndpointType> ranks(2, attributes);
  std::size_t round = 0;
  for (const std::size_t size : test::border_sizes(ranks.runtime(0))) {
    const auto cuts = cuts_of(size);
    for (std::size_t cut = 0; cut < cuts.size(); ++cut) {
      const std::size_t other = (cut + ++round) % cuts.size();
      SCOPED_TRACE(std::to_string(size) + " bytes, cut " + std::to_string(cut) + " into " +
                   std::to_string(other));
      expect_exchange(ranks, engine, cuts[cut], cuts[other], round % 2 == 0);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST_P(VectoredSends, of_every_cut_meet_receives_of_every_other) {
  expect_every_cut_meets_every_other<Endpoint>(attributes(), engine());
}

TEST_P(VectoredSends, over_serial_endpoints) {
  expect_every_cut_meets_every_other<SerialEndpoint>(attributes(), engine());
}

TEST_P(VectoredSends, fill_what_there_is_room_for_and_end_truncated) {
  Ranks<> ranks(2, attributes());
  for (const bool is_unexpected : {true, false})
    for (const std::size_t size : test::border_sizes(ranks.runtime(0))) {
      if (size == 0) continue;
      for (const std::vector<std::size_t>& room :
           {std::vector<std::size_t>{0, 0}, {size - 1, 0}, {size / 2, size / 4}, {0, size - 1}}) {
        SCOPED_TRACE(std::to_string(size) + " bytes into " + std::to_string(total_of(room)));
        expect_exchange(ranks, engine(), {size / 5, size - size / 5}, room, is_unexpected);
      }
    }
}

TEST_P(VectoredSends, leave_room_that_is_not_needed_untouched) {
  Ranks<> ranks(2, attributes());
  for (const std::size_t size : test::border_sizes(ranks.runtime(0)))
    expect_exchange(ranks, engine(), {size}, {size / 2, size, 0, 100}, size % 2 == 0);
}

TEST_P(VectoredSends, cannot_be_told_from_those_of_one_buffer) {
  Ranks<> ranks(2, attributes());
  for (const std::size_t size : test::border_sizes(ranks.runtime(0))) {
    SCOPED_TRACE(size);
    const SentPieces pieces(cuts_of(size).back(), size);
    const auto whole = test::payload(size, size);
    for (const bool sends_list : {true, false}) {
      Recorder sent;
      Recorder received;
      std::vector<std::byte> buffer(size);
      FilledPieces filled({size / 2, size - size / 2});
      const ReceiveOptions options{.completion = &received, .engine = engine()};
      const SendOptions send_options{.completion = &sent, .engine = engine()};
      ASSERT_TRUE(accepted(ranks, [&] {
        return sends_list ? ranks.endpoint(1).post_receive(0, 1, buffer, options)
                          : ranks.endpoint(1).post_receive(0, 1, filled.list, options);
      }));
      ASSERT_TRUE(accepted(ranks, [&] {
        return sends_list ? ranks.endpoint(0).post_send(1, 1, pieces.list, send_options)
                          : ranks.endpoint(0).post_send(1, 1, whole, send_options);
      }));
      ASSERT_TRUE(ranks.progress_until([&] { return sent.ready() && received.ready(); }));
      if (sends_list)
        EXPECT_TRUE(test::matches(buffer, size));
      else
        EXPECT_TRUE(filled.hold(size, size, size));
    }
  }
}

TEST_P(VectoredSends, are_kept_for_retry_with_their_lists) {
  // From one list that is reused.
  Ranks<> ranks(2, attributes());
  ASSERT_TRUE(ranks.meet());
  const std::size_t packet = test::size_attribute(ranks.runtime(0), "packet_size");
  std::vector<std::unique_ptr<SentPieces>> pieces;
  std::vector<std::unique_ptr<FilledPieces>> filled;
  Recorder sent;
  Recorder received;
  constexpr std::uint64_t kMessages = 200;
  constexpr std::uint64_t kWait =
      8;  // messages before their receives; more are refused where stores are small
  const auto receive = [&](std::uint64_t number) {
    filled.push_back(std::make_unique<FilledPieces>(cuts_of(pieces[number]->size())[(number + 2) % 5]));
    ASSERT_TRUE(accepted(ranks, [&] {
      return ranks.endpoint(1).post_receive(
          0, number, filled.back()->list, {.completion = &received, .engine = engine(), .may_retry = false});
    }));
  };
  std::vector<Bytes> list;
  for (std::uint64_t number = 0; number < kMessages; ++number) {
    const std::size_t size = number % 3 == 0 ? 30 : number % 3 == 1 ? packet / 2 : packet + number;
    pieces.push_back(std::make_unique<SentPieces>(cuts_of(size)[number % 5], number));
    list = pieces.back()->list;
    ASSERT_TRUE(accepted(ranks, [&] {
      return ranks.endpoint(0).post_send(
          1, number, list, {.completion = &sent, .engine = engine(), .may_retry = number % 2 == 0});
    }));
    std::fill(list.begin(), list.end(), Bytes{});
    if (number >= kWait) receive(number - kWait);
  }
  for (std::uint64_t number = kMessages - kWait; number < kMessages; ++number) receive(number);
  ASSERT_TRUE(ranks.progress_until(
      [&] { return sent.messages.size() == kMessages && received.messages.size() == kMessages; }));
  for (std::uint64_t number = 0; number < kMessages; ++number) {
    const std::size_t bytes = pieces[number]->size();
    EXPECT_TRUE(filled[number]->hold(bytes, bytes, number)) << number;
  }
}

TEST_P(VectoredSends, of_handlers_need_no_completion_object_up_to_a_packet) {
  Ranks<> ranks(2, attributes());
  ASSERT_TRUE(ranks.meet());
  constexpr std::uint64_t kMessages = 60;
  constexpr std::size_t kSize = 900;
  std::uint64_t refused = 0;
  Handler answers([&](Message& message) {
    const auto number = message.as<std::uint64_t>();
    const SentPieces pieces(cuts_of(kSize)[number % 5], number);
    if (ranks.endpoint(1).post_send(0, number, pieces.list, {.engine = engine()}).is_retry()) ++refused;
  });
  const RemoteCompletion remote = ranks.runtime(1).expose(answers, {.id = 1});
  std::vector<std::unique_ptr<FilledPieces>> filled;
  Recorder received;
  std::uint64_t answered = 0;
  for (std::uint64_t number = 0; number < kMessages; ++number) {
    filled.push_back(std::make_unique<FilledPieces>(cuts_of(kSize)[(number + 1) % 5]));
    ASSERT_TRUE(accepted(ranks, [&] {
      return ranks.endpoint(0).post_receive(
          1, number, filled.back()->list, {.completion = &received, .engine = engine(), .may_retry = false});
    }));
    ASSERT_TRUE(ranks.post(0, 1, remote, std::as_bytes(std::span(&number, 1))));
    ++answered;
    ASSERT_TRUE(ranks.progress_until([&] { return received.messages.size() + refused == answered; }));
  }
  EXPECT_EQ(refused, 0U);
  for (const Message& message : received.messages)
    EXPECT_TRUE(filled[message.tag()]->hold(kSize, kSize, message.tag()));
}

TEST_P(VectoredSends, and_receives_that_wait) {
  Ranks<> ranks(2, attributes());
  constexpr std::uint64_t kMessages = 40;
  const std::size_t packet = test::size_attribute(ranks.runtime(0), "packet_size");
  const auto size_of = [packet](std::uint64_t number) {
    return number % 4 == 3 ? packet * 3 + number : number * 7;
  };
  std::atomic<int> wrong{0};
  std::thread sender([&] {
    for (std::uint64_t number = 0; number < kMessages; ++number) {
      const SentPieces pieces(cuts_of(size_of(number))[number % 5], number);
      static_cast<void>(ranks.endpoint(0).send(1, number, pieces.list, {.engine = engine()}));
    }
  });
  for (std::uint64_t number = 0; number < kMessages; ++number) {
    FilledPieces filled(cuts_of(size_of(number))[(number + 3) % 5]);
    const Message message = ranks.endpoint(1).receive(0, number, filled.list, {.engine = engine()});
    if (message.outcome() != Outcome::ok || message.length() != size_of(number) ||
        !filled.hold(size_of(number), size_of(number), number))
      ++wrong;
  }
  sender.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(VectoredSends, of_many_threads_arrive_whole) {
  constexpr int kThreads = 3;
  constexpr std::uint64_t kMessages = 60;
  Ranks<> ranks(2, attributes());
  ASSERT_TRUE(ranks.meet());
  const std::size_t packet = test::size_attribute(ranks.runtime(0), "packet_size");
  const auto size_of = [packet](std::uint64_t number) {
    constexpr std::size_t kSmall[] = {8, 0, 41, 700, 8};
    return number % 6 == 5 ? packet + number * 11 : kSmall[number % 6];
  };
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t number = 0; number < kMessages; ++number) {
        const std::uint64_t tag = number * kThreads + static_cast<std::uint64_t>(thread);
        const SentPieces pieces(cuts_of(size_of(number))[tag % 5], tag);
        static_cast<void>(ranks.endpoint(0).send(1, tag, pieces.list, {.engine = engine()}));
      }
    });
    threads.emplace_back([&, thread] {
      for (std::uint64_t number = 0; number < kMessages; ++number) {
        const std::uint64_t tag = number * kThreads + static_cast<std::uint64_t>(thread);
        FilledPieces filled(cuts_of(size_of(number))[(tag + 1) % 5]);
        const Message message = ranks.endpoint(1).receive(0, tag, filled.list, {.engine = engine()});
        if (message.outcome() != Outcome::ok || !filled.hold(size_of(number), size_of(number), tag)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(VectoredSends, whose_receives_are_cancelled_leave_the_buffers_alone) {
  Ranks<> ranks(2, attributes());
  // More often than there are records, so that none is lost.
  for (int round = 0; round < 300; ++round) {
    FilledPieces filled({8, 0, 100});
    Recorder received;
    ReceiveHandle handle;
    int mark = 0;
    ASSERT_TRUE(ranks.endpoint(1)
                    .post_receive(
                        0, 3, filled.list,
                        {.completion = &received, .user_data = &mark, .engine = engine(), .handle = &handle})
                    .is_posted());
    ASSERT_TRUE(ranks.endpoint(1).cancel(handle));
    ASSERT_EQ(received.messages.size(), 1U);
    EXPECT_EQ(received.messages[0].outcome(), Outcome::cancelled);
    EXPECT_EQ(received.messages[0].size(), 0U);
    EXPECT_EQ(received.messages[0].user_data(), &mark);
    EXPECT_TRUE(filled.are_untouched());
  }
  expect_exchange(ranks, engine(), {10, 20}, {20, 10}, true);
}

}  // namespace
}  // namespace weft
