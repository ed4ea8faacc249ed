// Synchronizers: ready after so many signals, every message kept, rounds that do not mix.
#include "support/ranks.hpp"

#include <weft/detail/message_access.hpp>

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

using detail::MessageAccess;
using test::matches;
using test::payload;
using test::Ranks;

/// What progress would do when an operation with this tag and user data ends.
void signal(Completion& completion, std::uint64_t tag, void* user_data = nullptr) {
  Message message;
  MessageAccess::set_view(message, Operation::receive, 3, tag, nullptr, 0, nullptr, 0);
  MessageAccess::set_user_data(message, user_data);
  completion.signal(message);
}

std::vector<std::uint64_t> tags(Synchronizer& synchronizer) {
  std::vector<std::uint64_t> result;
  for (const Message& message : synchronizer.messages()) result.push_back(message.tag());
  return result;
}

TEST(Synchronizer, is_ready_after_its_number_of_signals_and_not_before) {
  for (const std::uint32_t signals : {1U, 2U, 3U, 100U}) {
    Synchronizer synchronizer(signals);
    EXPECT_EQ(synchronizer.signals(), signals);
    for (std::uint32_t count = 0; count < signals; ++count) {
      EXPECT_FALSE(synchronizer.test());
      signal(synchronizer, count);
    }
    EXPECT_TRUE(synchronizer.test());
    EXPECT_TRUE(synchronizer.ready());
    EXPECT_EQ(synchronizer.messages().size(), signals);
  }
}

TEST(Synchronizer, keeps_messages_in_order_of_arrival) {
  Synchronizer synchronizer(4);
  for (const std::uint64_t tag : {9, 2, 7, 7}) signal(synchronizer, tag);
  EXPECT_EQ(tags(synchronizer), (std::vector<std::uint64_t>{9, 2, 7, 7}));
  EXPECT_EQ(synchronizer.messages()[0].peer(), 3);
  EXPECT_EQ(synchronizer.messages()[0].operation(), Operation::receive);
}

TEST(Synchronizer, finds_messages_by_the_slot_of_their_operation) {
  Synchronizer synchronizer(4);
  signal(synchronizer, 2, synchronizer.slot(2));
  signal(synchronizer, 0, synchronizer.slot(0));
  signal(synchronizer, 99, &synchronizer);  // user data of the program's own
  signal(synchronizer, 3, synchronizer.slot(3));
  EXPECT_EQ(synchronizer.by_slot(0)->tag(), 0U);
  EXPECT_EQ(synchronizer.by_slot(1), nullptr);
  EXPECT_EQ(synchronizer.by_slot(2)->tag(), 2U);
  EXPECT_EQ(synchronizer.by_slot(3)->tag(), 3U);
  EXPECT_EQ(tags(synchronizer), (std::vector<std::uint64_t>{2, 0, 99, 3}));
  EXPECT_EQ(synchronizer.messages()[2].user_data(), &synchronizer);
}

TEST(Synchronizer, does_not_take_the_slot_of_another_synchronizer_for_its_own) {
  Synchronizer one(2);
  Synchronizer other(2);
  signal(one, 1, other.slot(0));
  signal(one, 2, static_cast<std::byte*>(one.slot(0)) + 1);
  EXPECT_EQ(one.by_slot(0), nullptr);
  EXPECT_EQ(one.by_slot(1), nullptr);
}

TEST(Synchronizer, starts_empty_in_every_round) {
  Synchronizer synchronizer(2);
  for (std::uint64_t round = 0; round < 10; ++round) {
    EXPECT_FALSE(synchronizer.test());
    signal(synchronizer, round, synchronizer.slot(round % 2 == 0 ? 0 : 1));
    EXPECT_FALSE(synchronizer.test());
    signal(synchronizer, 100 + round);
    ASSERT_TRUE(synchronizer.test());
    EXPECT_EQ(tags(synchronizer), (std::vector<std::uint64_t>{round, 100 + round}));
    EXPECT_EQ(synchronizer.by_slot(0) != nullptr, round % 2 == 0);
    EXPECT_EQ(synchronizer.by_slot(1) != nullptr, round % 2 == 1);
    synchronizer.reset();
  }
}

TEST(Synchronizer, counts_early_signals_towards_the_next_round) {
  Synchronizer synchronizer(2);
  for (std::uint64_t tag = 0; tag < 3; ++tag) signal(synchronizer, tag, synchronizer.slot(tag % 2));
  EXPECT_EQ(tags(synchronizer), (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(synchronizer.by_slot(0)->tag(), 0U) << "not that of the next round";
  synchronizer.reset();
  EXPECT_FALSE(synchronizer.test());
  signal(synchronizer, 3);
  signal(synchronizer, 4);
  signal(synchronizer, 5);
  EXPECT_EQ(tags(synchronizer), (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(synchronizer.by_slot(0)->tag(), 2U);
  synchronizer.reset();
  ASSERT_TRUE(synchronizer.test()) << "the next round was complete before it began";
  EXPECT_EQ(tags(synchronizer), (std::vector<std::uint64_t>{4, 5}));
  EXPECT_EQ(synchronizer.lost(), 0U);
}

TEST(Synchronizer, reports_and_counts_signals_beyond_two_rounds) {
  Synchronizer synchronizer(2);
  for (std::uint64_t tag = 0; tag < 4; ++tag) signal(synchronizer, tag);
  EXPECT_EQ(synchronizer.lost(), 0U);
  testing::internal::CaptureStderr();
  signal(synchronizer, 4);
  const std::string report = testing::internal::GetCapturedStderr();
  EXPECT_NE(report.find("synchronizer of 2 signals"), std::string::npos) << report;
  EXPECT_NE(report.find("tag 4"), std::string::npos) << report;
  testing::internal::CaptureStderr();
  signal(synchronizer, 5);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "reported once";
  EXPECT_EQ(synchronizer.lost(), 2U);
  EXPECT_EQ(tags(synchronizer), (std::vector<std::uint64_t>{0, 1}));
  synchronizer.reset();
  EXPECT_EQ(tags(synchronizer), (std::vector<std::uint64_t>{2, 3}));
  synchronizer.reset();
  EXPECT_FALSE(synchronizer.test());
}

TEST(Synchronizer, needs_a_number_of_signals_that_makes_sense) {
  EXPECT_THROW(Synchronizer{0}, Error);
  EXPECT_THROW(Synchronizer{Synchronizer::kMaxSignals + 1}, Error);
}

TEST(Synchronizer, keeps_payloads_of_arrived_messages_until_it_is_reset) {
  Ranks<Endpoint> ranks(2);
  const std::size_t sizes[] = {0, 8, 48, 49, 400, 5000, 100'000};
  constexpr std::uint32_t kCount = std::size(sizes);
  Synchronizer arrived(kCount);
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
  for (std::uint32_t round = 0; round < 5; ++round) {
    std::vector<std::vector<std::byte>> payloads;
    for (std::uint32_t index = 0; index < kCount; ++index)
      payloads.push_back(payload(sizes[index], round * 100 + index));
    for (std::uint32_t index = 0; index < kCount; ++index)
      ASSERT_TRUE(
          ranks.post(0, 1, remote, payloads[index], {.tag = index, .may_complete_now = true}).has_value());
    ASSERT_TRUE(ranks.progress_until([&] { return arrived.test(); }));
    for (int more = 0; more < 100; ++more) ranks.progress();
    for (const Message& message : arrived.messages()) {
      const auto index = static_cast<std::uint32_t>(message.tag());
      ASSERT_EQ(message.size(), sizes[index]);
      EXPECT_TRUE(matches(message.bytes(), round * 100 + index)) << sizes[index];
    }
    arrived.reset();
  }
}

TEST(Synchronizer, collects_own_operations_in_their_slots) {
  Ranks<Endpoint> ranks(3);
  Counter counters[3];
  std::vector<RemoteCompletion> remotes;
  for (int rank = 0; rank < 3; ++rank)
    remotes.push_back(ranks.runtime(rank).expose(counters[rank], {.id = 1}));
  Synchronizer sent(3);
  const auto bytes = payload(100'000, 5);
  for (int rank = 0; rank < 3; ++rank) {
    const auto status =
        ranks.post(0, rank, remotes[static_cast<std::size_t>(rank)], bytes,
                   {.completion = &sent, .user_data = sent.slot(static_cast<std::uint32_t>(rank))});
    ASSERT_TRUE(status.has_value());
    EXPECT_TRUE(status->is_posted());
  }
  ASSERT_TRUE(ranks.progress_until([&] { return sent.test(); }));
  for (int rank = 0; rank < 3; ++rank) {
    const Message* message = sent.by_slot(static_cast<std::uint32_t>(rank));
    ASSERT_NE(message, nullptr);
    EXPECT_EQ(message->peer(), rank);
    EXPECT_EQ(message->outcome(), Outcome::ok);
    EXPECT_EQ(message->data(), bytes.data());
  }
}

TEST(Synchronizer, wakes_a_thread_that_waits_for_it) {
  Ranks<Endpoint> ranks(2);
  Synchronizer arrived(2);
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
  constexpr std::uint64_t kRounds = 200;
  Counter acknowledged;
  const RemoteCompletion back = ranks.runtime(0).expose(acknowledged, {.id = 2});
  std::thread receiver([&] {
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const auto messages = ranks.endpoint(1).wait(arrived);
      EXPECT_EQ(messages.size(), 2U);
      for (const Message& message : messages) EXPECT_EQ(message.as<std::uint64_t>(), round);
      arrived.reset();
      static_cast<void>(ranks.endpoint(1).send_am(0, back, {}));
    }
  });
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    for (int count = 0; count < 2; ++count)
      static_cast<void>(ranks.endpoint(0).send_am(1, remote, bytes_of(round)));
    ranks.endpoint(0).wait(acknowledged, round + 1);
  }
  receiver.join();
  EXPECT_EQ(arrived.lost(), 0U);
}

}  // namespace
}  // namespace weft
