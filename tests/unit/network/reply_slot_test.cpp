// A request and its answer travel in one place, and whose turn it is not uses the ring.
#include "network/shm/segment/layout.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace weft {
namespace {

using detail::SendLane;
using detail::Slot;
using detail::slot_header;
using detail::SlotKind;
using test::Ranks;

SendLane& lane_of(auto& endpoint, int peer) { return *endpoint.path().lane(peer, 0); }

/// Two ranks that have sent to each other, so that the reply slot is at rank 0.
template <class EndpointType>
class ReplySlot : public testing::Test {
 protected:
  ReplySlot() {
    for (std::size_t rank = 0; rank < 2; ++rank)
      remote_ = ranks_.runtime(static_cast<int>(rank)).expose(arrived_[rank], {.id = 1});
    EXPECT_TRUE(ranks_.post(0, 1, remote_, {}).has_value());
    EXPECT_TRUE(ranks_.progress_until([&] { return arrived_[1].messages.size() == 1; }));
    EXPECT_TRUE(ranks_.post(1, 0, remote_, {}).has_value());
    EXPECT_TRUE(ranks_.progress_until([&] { return arrived_[0].messages.size() == 1 && is_at(0); }));
    for (auto& each : arrived_) each.messages.clear();
  }
  SendLane& lane(int from) { return lane_of(ranks_.endpoint(from), 1 - from); }
  bool is_at(int rank) { return lane(rank).reply_slot.load() != nullptr; }
  void post(int from, std::uint64_t number, std::size_t size = 40) {
    ASSERT_TRUE(ranks_.endpoint(from).post_am(1 - from, remote_, test::payload(size, number)).is_done());
  }
  void expect(int rank, std::uint64_t number, std::size_t size = 40) {
    auto& messages = arrived_[static_cast<std::size_t>(rank)].messages;
    ASSERT_TRUE(ranks_.progress_until([&] { return !messages.empty(); }));
    EXPECT_EQ(messages.front().size(), size);
    EXPECT_TRUE(test::matches(messages.front().bytes(), number));
    messages.erase(messages.begin());
  }

  std::array<test::Recorder, 2> arrived_;
  Ranks<EndpointType> ranks_{2, {{"log", "error"}, {"drain_timeout", "0.5"}, {"park_timeout", "60"}}};
  RemoteCompletion remote_;
};
using EndpointTypes = testing::Types<SerialEndpoint, Endpoint>;
TYPED_TEST_SUITE(ReplySlot, EndpointTypes);

TYPED_TEST(ReplySlot, carries_requests_and_answers_so_that_the_rings_are_not_used) {
  const std::uint64_t tails[] = {this->lane(0).tail(), this->lane(1).tail()};
  for (std::uint64_t number = 0; number < 1000; ++number) {
    constexpr std::size_t kSizes[] = {40, 0, 48, 49, 55, 64, 400, 2096};  // of what needs no packet
    const std::size_t size = kSizes[number % std::size(kSizes)];
    ASSERT_TRUE(this->is_at(0) && !this->is_at(1));
    this->post(0, 2 * number, size);
    ASSERT_FALSE(this->is_at(0)) << size;
    this->expect(1, 2 * number, size);
    ASSERT_TRUE(this->is_at(1) && !this->is_at(0));
    this->post(1, 2 * number + 1, size);
    this->expect(0, 2 * number + 1, size);
  }
  EXPECT_EQ(this->lane(0).tail(), tails[0]);
  EXPECT_EQ(this->lane(1).tail(), tails[1]);
}

/// Also those that a handler posts while it still reads the request, of any length that needs no packet.
TYPED_TEST(ReplySlot, carries_answers_of_handlers) {
  auto& server = this->ranks_.endpoint(1);
  std::uint64_t wrong = 0;
  std::uint64_t number = 0;
  RemoteCompletion to_client;
  Handler serve{[&](Message& message) noexcept {
    const bool is_posted = server.post_am(0, to_client, message.bytes()).is_done();
    // Not overwritten by the answer.
    if (!is_posted || !test::matches(message.bytes(), number)) ++wrong;
  }};
  test::Recorder answers;
  to_client = this->ranks_.runtime(0).expose(answers, {.id = 5});
  const RemoteCompletion to_server = this->ranks_.runtime(1).expose(serve, {.id = 6});
  for (const std::size_t size : {8U, 48U, 49U, 64U, 500U, 2096U}) {
    SCOPED_TRACE("size " + std::to_string(size));
    std::uint64_t tail = 0;
    for (int round = 0; round < 200; ++round) {
      ++number;
      // From when the lane is known and it has been found out that the handler answers.
      if (round == 100) tail = this->lane(1).tail();
      ASSERT_TRUE(this->is_at(0) || round < 100);
      answers.messages.clear();
      ASSERT_TRUE(this->ranks_.endpoint(0).post_am(1, to_server, test::payload(size, number)).is_done());
      ASSERT_TRUE(this->ranks_.progress_until([&] { return !answers.messages.empty(); }));
      EXPECT_EQ(answers.messages.front().size(), size);
      EXPECT_TRUE(test::matches(answers.messages.front().bytes(), number));
    }
    EXPECT_EQ(this->lane(1).tail(), tail);
    EXPECT_EQ(wrong, 0U);
  }
}

/// What does not answer is not copied for it, and loses nothing either.
TYPED_TEST(ReplySlot, finds_out_again_whether_handlers_answer) {
  auto& server = this->ranks_.endpoint(1);
  bool answers_at_once = false;
  std::uint64_t answered = 0;
  RemoteCompletion to_client;
  std::vector<std::byte> kept;
  Handler serve{[&](Message& message) noexcept {
    kept.assign(message.bytes().begin(), message.bytes().end());
    if (answers_at_once && server.post_am(0, to_client, {}).is_done()) ++answered;
  }};
  Counter answers;
  to_client = this->ranks_.runtime(0).expose(answers, {.id = 5});
  const RemoteCompletion to_server = this->ranks_.runtime(1).expose(serve, {.id = 6});
  for (std::uint64_t round = 0; round < 400; ++round) {
    answers_at_once = round / 100 % 2 == 1;
    kept.clear();
    ASSERT_TRUE(this->ranks_.endpoint(0).post_am(1, to_server, test::payload(300, round)).is_done());
    ASSERT_TRUE(this->ranks_.progress_until([&] { return !kept.empty(); }));
    EXPECT_TRUE(test::matches(kept, round));
    if (!answers_at_once && server.post_am(0, to_client, {}).is_done()) ++answered;
    ASSERT_TRUE(
        this->ranks_.progress_until([&] { return answers.value() == answered && answered == round + 1; }));
  }
}

TYPED_TEST(ReplySlot, leaves_what_is_sent_out_of_turn_to_the_rings) {
  const std::uint64_t tails[] = {this->lane(0).tail(), this->lane(1).tail()};
  for (std::uint64_t number = 0; number < 5; ++number) this->post(0, number);
  for (std::uint64_t number = 5; number < 8; ++number) this->post(1, number);
  EXPECT_EQ(this->lane(0).tail(), tails[0] + 4);
  EXPECT_EQ(this->lane(1).tail(), tails[1] + 3);
  ASSERT_TRUE(this->ranks_.progress_until(
      [&] { return this->arrived_[1].messages.size() == 5 && this->arrived_[0].messages.size() == 3; }));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    std::vector<bool> seen(8);
    for (const Message& message : this->arrived_[rank].messages)
      for (std::uint64_t number = 0; number < 8; ++number)
        if (test::matches(message.bytes(), number)) seen[number] = true;
    for (std::size_t number = 0; number < 8; ++number) EXPECT_EQ(seen[number], (number < 5) == (rank == 1));
  }
}

/// Both ranks post before either reads, again and again.
TYPED_TEST(ReplySlot, rests_where_both_ranks_send_at_a_time_and_goes_on_with_a_ping_pong) {
  std::uint64_t number = 0;
  const auto exchange = [&](std::size_t size) {
    for (const int rank : {0, 1}) this->post(rank, number + static_cast<std::uint64_t>(rank), size);
    for (const int rank : {0, 1}) this->expect(rank, number + static_cast<std::uint64_t>(1 - rank), size);
    number += 2;
  };
  const auto tails = [&] { return this->lane(0).tail() + this->lane(1).tail(); };
  for (int step = 0; step < 100; ++step) exchange(40);
  EXPECT_FALSE(this->is_at(0) || this->is_at(1)) << "rests";
  // A trial now and then takes a message or two.
  std::uint64_t before = tails();
  for (int step = 0; step < 1000; ++step) exchange(40);
  EXPECT_GE(tails() - before, 1900U);
  EXPECT_LT(tails() - before, 2000U) << "is tried again";
  // A ping-pong gets it back, after what is left of the rest.
  const auto round_trip = [&](std::size_t size) {
    for (const int rank : {0, 1}) {
      this->post(rank, number, size);
      this->expect(1 - rank, number++, size);
    }
  };
  for (int step = 0; step < 600; ++step) round_trip(40);
  before = tails();
  for (int step = 0; step < 100; ++step) round_trip(40);
  EXPECT_EQ(tails(), before);
  // Larger messages keep it: one of two goes by it.
  before = tails();
  for (int step = 0; step < 100; ++step) exchange(400);
  EXPECT_GE(tails() - before, 100U * 7);
  EXPECT_LT(tails() - before, 150U * 7);
}

/// Where messages come one by one while their receiver looks, it leaves the next slot alone.
TYPED_TEST(ReplySlot, is_used_beside_rings_of_which_a_visit_takes_one_where_they_come_one_by_one) {
  auto& receiver = this->ranks_.endpoint(1);
  this->post(0, 0);  // by the reply slot, which stays at rank 1 from now on
  EXPECT_EQ(receiver.progress(), 1U);
  std::uint64_t number = 1;
  const auto post_some = [&](int messages) {
    for (int message = 0; message < messages; ++message) this->post(0, number++);
  };
  for (int step = 0; step < 40; ++step) {
    EXPECT_EQ(receiver.progress(), 0U);
    post_some(1);
    EXPECT_EQ(receiver.progress(), 1U);
  }
  EXPECT_EQ(receiver.progress(), 0U);
  post_some(3);
  EXPECT_EQ(receiver.progress(), 1U) << "the first came while it looked";
  EXPECT_EQ(receiver.progress(), 2U) << "the others were there";
  // Whoever looks now and then finds all that is there.
  for (int step = 0; step < 40; ++step) {
    post_some(2);
    EXPECT_EQ(receiver.progress(), 2U);
  }
  // Windows are found out soon.
  int visits = 0;
  for (int window = 0; window < 40; ++window) {
    EXPECT_EQ(receiver.progress(), 0U);
    post_some(10);
    for (std::size_t taken = 0; taken < 10; ++visits) taken += receiver.progress();
  }
  EXPECT_LT(visits, 50);
  EXPECT_EQ(this->arrived_[1].messages.size(), number);
  for (std::uint64_t each = 0; each < number; ++each)
    EXPECT_TRUE(test::matches(this->arrived_[1].messages[each].bytes(), each)) << each;
}

TYPED_TEST(ReplySlot, carries_sends_of_every_kind) {
  Counter received;
  constexpr std::size_t kSizes[] = {8, 64, 2088, 8192};  // the last one would need a packet otherwise
  std::vector<std::byte> buffer(8192);
  const std::uint16_t ordered = kMatchingEngines;
  MatchingEngine engines[] = {{this->ranks_.runtime(0), {.id = ordered, .order = MatchOrder::ordered}},
                              {this->ranks_.runtime(1), {.id = ordered, .order = MatchOrder::ordered}}};
  // The first send of each kind takes the slow way, which uses the ring.
  for (std::uint64_t tag = 0; tag < 30; ++tag) {
    const std::uint16_t engine = tag % 2 == 0 ? 0 : ordered;
    // Longer ones to ordered engines take the slow way.
    const std::size_t size = engine == ordered ? 8 : kSizes[tag / 2 % std::size(kSizes)];
    const std::uint64_t tail = this->lane(0).tail();
    ASSERT_TRUE(this->is_at(0));
    ASSERT_TRUE(this->ranks_.endpoint(1)
                    .post_receive(0, tag, buffer, {.completion = &received, .engine = engine})
                    .is_posted());
    ASSERT_TRUE(this->ranks_.endpoint(0)
                    .post_send(1, tag, test::payload(size, tag), {.engine = engine, .may_complete_now = true})
                    .is_done());
    ASSERT_TRUE(this->ranks_.progress_until([&] { return received.value() == tag + 1; }));
    EXPECT_TRUE(test::matches(std::span(buffer).first(size), tag)) << size;
    if (tag >= 2) {
      EXPECT_EQ(this->lane(0).tail(), tail) << size;
    }
    if (this->is_at(0)) continue;
    this->post(1, tag);
    this->expect(0, tag);
  }
}

/// What one rank posts to the other arrives in that order, wherever it travels.
TYPED_TEST(ReplySlot, keeps_the_order_of_what_travels_beside_it) {
  std::uint64_t sent[2] = {};
  std::uint64_t seen[2] = {};
  const auto look = [&] {
    for (std::size_t rank = 0; rank < 2; ++rank) {
      for (const Message& message : this->arrived_[rank].messages) {
        std::uint64_t number = 0;
        ASSERT_GE(message.size(), sizeof number);
        std::memcpy(&number, message.data(), sizeof number);
        ASSERT_EQ(number, seen[rank]++) << "at rank " << rank;
      }
      this->arrived_[rank].messages.clear();
    }
  };
  std::uint64_t random = 12345;
  const auto chance = [&](std::uint64_t of) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return (random >> 33) % of;
  };
  std::uint64_t by_reply_slot = 0;
  for (int step = 0; step < 20'000; ++step) {
    const auto rank = static_cast<int>(chance(2));
    if (chance(3) == 0) {
      this->ranks_.endpoint(rank).progress();
      ASSERT_NO_FATAL_FAILURE(look());
      continue;
    }
    // Some take several slots, some skip the end of the ring or make it grow, and some need a packet.
    // Small ones let the reply slot rest, where others do not.
    const std::size_t usual = step % 1000 < 500 ? 8 : 300;
    std::vector<std::byte> content(chance(20) != 0 ? usual : chance(4) != 0 ? 400 : 3000);
    std::uint64_t& number = sent[1 - rank];
    std::memcpy(content.data(), &number, sizeof number);
    const bool was_here = this->is_at(rank);
    if (!this->ranks_.endpoint(rank).post_am(1 - rank, this->remote_, content).is_done()) continue;
    ++number;
    by_reply_slot += was_here && !this->is_at(rank) ? 1 : 0;
  }
  ASSERT_TRUE(this->ranks_.progress_until([&] {
    look();
    return this->HasFatalFailure() || (seen[0] == sent[0] && seen[1] == sent[1]);
  }));
  EXPECT_GT(by_reply_slot, 1000U);
}

/// The same while the receiver is inside the lane when the reply slot comes back: a handler answers.
TYPED_TEST(ReplySlot, keeps_the_order_while_handlers_answer) {
  constexpr std::uint64_t kMessages = 200'000;
  auto& server = this->ranks_.endpoint(1);
  auto& client = this->ranks_.endpoint(0);
  std::uint64_t seen = 0;
  std::atomic<std::uint64_t> wrong{0};
  RemoteCompletion to_client;
  Counter answers;
  Handler serve{[&](Message& message) noexcept {
    if (message.template as<std::uint64_t>() != seen++) wrong.fetch_add(1);
    static_cast<void>(server.post_am(0, to_client, {}));
  }};
  to_client = this->ranks_.runtime(0).expose(answers, {.id = 5});
  const RemoteCompletion to_server = this->ranks_.runtime(1).expose(serve, {.id = 6});
  std::jthread serving(
      [&] { static_cast<void>(test::until([&] { return seen == kMessages; }, [&] { server.progress(); })); });
  std::uint64_t sent = 0;
  EXPECT_TRUE(test::until([&] { return sent == kMessages; },
                          [&] {
                            if (client.post_am(1, to_server, bytes_of(sent)).is_done()) ++sent;
                            if (sent % 3 == 0) client.progress();
                          }));
  serving.join();
  EXPECT_EQ(seen, kMessages);
  EXPECT_EQ(wrong.load(), 0U);
}

TYPED_TEST(ReplySlot, is_counted) {
  const RuntimeCounters before = this->ranks_.runtime(0).counters();
  for (std::uint64_t number = 0; number < 10; ++number) {
    const std::size_t size = number % 2 == 0 ? 40 : 400;
    this->post(0, number, size);
    this->expect(1, number, size);
    this->post(1, number, size);
    this->expect(0, number, size);
  }
  const RuntimeCounters after = this->ranks_.runtime(0).counters();
  EXPECT_EQ(after.active_messages_sent, before.active_messages_sent + 10);
  EXPECT_EQ(after.active_messages_received, before.active_messages_received + 10);
  EXPECT_EQ(after.inlined_sent, before.inlined_sent + 5);
  EXPECT_EQ(after.eager_bytes_sent, before.eager_bytes_sent + 5 * 400);
  EXPECT_EQ(after.eager_bytes_received, before.eager_bytes_received + 5 * 400);
}

TYPED_TEST(ReplySlot, that_was_written_before_a_rank_has_left_is_read) {
  this->post(0, 7);
  this->post(0, 8);
  std::jthread leaving([&] { this->ranks_.leave(0); });
  auto& messages = this->arrived_[1].messages;
  EXPECT_TRUE(
      test::until([&] { return messages.size() == 2; }, [&] { this->ranks_.endpoint(1).progress(); }));
}

TYPED_TEST(ReplySlot, wakes_a_thread_that_waits) {
  Counter answered;
  const RemoteCompletion remote = this->ranks_.runtime(0).expose(answered, {.id = 2});
  this->post(0, 1);
  this->expect(1, 1);
  ASSERT_TRUE(this->is_at(1));
  std::atomic<bool> is_awake{false};
  std::jthread waiting([&] {
    this->ranks_.endpoint(0).wait(answered, 1);
    is_awake = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // by now it is parked, most of the time
  ASSERT_TRUE(this->ranks_.endpoint(1).post_am(0, remote, {}).is_done());
  EXPECT_FALSE(this->is_at(1));
  // By itself it would sleep on for longer than the hang guard: see `park_timeout`.
  EXPECT_TRUE(test::until([&] { return is_awake.load(); }, [] { std::this_thread::yield(); }));
  EXPECT_EQ(answered.value(), 1U);
}

TYPED_TEST(ReplySlot, with_an_impossible_content_is_refused_and_goes_on) {
  const auto refused = [&] { return this->ranks_.runtime(1).counters().refused_messages; };
  const std::uint64_t contents[] = {slot_header(0, 8, 1, SlotKind::packet),
                                    slot_header(0, network::shm::kReplySlotPayload + 1, 1, SlotKind::message),
                                    slot_header(0, 8, 200, SlotKind::message),
                                    slot_header(0, 8, 1, SlotKind{})};
  for (const std::uint64_t content : contents) {
    const std::uint64_t before = refused();
    SendLane& lane = this->lane(0);
    Slot* const reply_slot = lane.reply_slot.exchange(nullptr);
    ASSERT_NE(reply_slot, nullptr);
    reply_slot->word = detail::handle_word(this->remote_, 0);
    reply_slot->header.store(lane.reply_slot_mark | content, std::memory_order_release);
    ASSERT_TRUE(this->ranks_.progress_until([&] { return this->is_at(1); }));
    EXPECT_EQ(refused(), before + 1) << content;
    this->post(1, 3);
    this->expect(0, 3);
  }
}

}  // namespace
}  // namespace weft
