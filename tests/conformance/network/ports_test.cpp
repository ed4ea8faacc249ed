// What every network promises about its ports besides carrying messages: what it knows of the traffic, what a
// poll and a closing port may rely on, and what ranks learn of each other's end.
#include "conformance/network/stage.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string_view>
#include <thread>

namespace weft::network::test {
namespace {

TEST(Ports, can_what_their_network_says_before_one_is_open) {
  const base::Attributes attributes = base::Attributes::load({});
  bootstrap::Hub hub(1);
  Rank rank(hub, 0, attributes, true);
  const Capabilities before = rank.network->capabilities();
  const std::string_view asked = attributes.text(base::Attribute::network);
  EXPECT_EQ(rank.network->name(), asked == "auto" ? std::string_view("shm") : asked);
  rank.open();
  const Capabilities& after = rank.port->capabilities();
  EXPECT_EQ(before.inline_bytes, after.inline_bytes);
  EXPECT_EQ(before.can_read, after.can_read);
  EXPECT_EQ(before.immediate_bytes, after.immediate_bytes);
  EXPECT_EQ(before.keeps_order, after.keeps_order);
}

TEST(Ports, have_packets_of_the_size_that_was_asked_for) {
  Stage stage(2, {{"packets", "16"}, {"packet_size", "4096"}});
  const Network::PacketMemory memory = stage[0].network->packet_memory();
  ASSERT_NE(memory.base, nullptr);
  EXPECT_GE(memory.count, 16U);
  EXPECT_EQ(memory.payload, 4096U + Network::kPacketTrailer);
  EXPECT_GE(memory.stride, memory.payload);
}

TEST(Ports, count_the_messages_that_their_sink_has_taken) {
  Stage stage(2);
  constexpr std::uint64_t kShort = 30;
  constexpr std::uint64_t kLong = 20;
  constexpr std::size_t kBytes = 1000;
  const Port::Traffic before = stage.port(1).traffic();
  for (std::uint64_t word = 0; word < kShort; ++word)
    ASSERT_EQ(stage.send(0, Stage::to(1, word), payload(8, word)), SendResult::sent);
  for (std::uint64_t word = 0; word < kLong; ++word)
    ASSERT_EQ(stage.send_packet(0, Stage::to(1, word), payload(kBytes, word)), SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == kShort + kLong; }));
  ASSERT_TRUE(stage.until([&] { return stage.drained(); }));
  const Port::Traffic after = stage.port(1).traffic();
  EXPECT_EQ(after.delivered - before.delivered, kShort + kLong);
  EXPECT_EQ(after.delivered_bytes - before.delivered_bytes, kLong * kBytes);
}

TEST(Ports, carry_messages_whether_one_thread_uses_them_or_many_and_after_each_change) {
  Stage stage(2);
  std::uint64_t word = 0;
  for (const bool exclusive : {true, false, true}) {
    for (const int rank : {0, 1}) stage.port(rank).set_exclusive(exclusive);
    for (int each = 0; each < 40; ++each, ++word)
      ASSERT_EQ(stage.send(0, Stage::to(1, word), payload(8, word)), SendResult::sent) << exclusive;
    ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == word; })) << exclusive;
    ASSERT_TRUE(stage.until([&] { return stage.port(1).prepare_park(); })) << exclusive;
  }
}

TEST(Ports, deliver_no_more_than_a_poll_asks_for_and_the_rest_with_later_polls) {
  Stage stage(2, weft::test::kNoSurprises);
  constexpr std::uint64_t kCount = 12;
  ASSERT_EQ(stage.send(0, Stage::to(1, kCount), {}), SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == 1; }));
  for (std::uint64_t word = 0; word < kCount; ++word)
    ASSERT_TRUE(weft::test::until(
        [&] { return stage.port(0).send(Stage::to(1, word), payload(8, word)) == SendResult::sent; },
        [&] { stage[0].poll(); }));
  Notes& notes = stage.notes(1);
  ASSERT_TRUE(weft::test::until(
      [&] {
        const std::size_t before = notes.arrivals.size();
        const std::size_t delivered = stage.port(1).poll(notes, 1);
        EXPECT_EQ(notes.arrivals.size() - before, delivered) << "a poll returns what it has delivered";
        EXPECT_LE(delivered, 3U) << "about as many as it was asked for, from one lane";
        return notes.arrivals.size() == kCount + 1;
      },
      [&] { stage[0].poll(); }));
}

TEST(Ports, keep_the_order_of_a_class_where_they_say_so) {
  Stage stage(2);
  if (!stage.port(0).peer_capabilities(1).keeps_order) GTEST_SKIP() << "this network keeps no order";
  constexpr std::uint64_t kCount = 500;
  for (std::uint64_t word = 0; word < kCount; ++word)
    ASSERT_EQ(word % 7 == 0 ? stage.send_packet(0, Stage::to(1, word), payload(700 + word, word))
                            : stage.send(0, Stage::to(1, word), payload(word % 49, word)),
              SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == kCount; }));
  EXPECT_TRUE(
      std::is_sorted(stage.notes(1).arrivals.begin(), stage.notes(1).arrivals.end(),
                     [](const Notes::Arrival& a, const Notes::Arrival& b) { return a.word < b.word; }));
}

TEST(Ports, name_the_peers_that_have_not_consumed_what_was_sent) {
  Stage stage(3);
  bool takes = false;
  stage.notes(1).takes = [&](std::uint64_t) { return takes; };
  std::uint64_t sent = 0;
  ASSERT_TRUE(stage.until([&] {
    if (stage.port(0).send(Stage::to(1, sent), payload(8, sent)) == SendResult::sent) ++sent;
    return sent == 3;
  }));
  ASSERT_EQ(stage.send(0, Stage::to(2, 0), payload(8, 0)), SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(2).arrivals.size() == 1; }));
  EXPECT_FALSE(stage.port(0).drained());
  // Consumed messages are learnt of a little later.
  ASSERT_TRUE(stage.until([&] {
    const std::vector<Port::Unconsumed> all = stage.port(0).unconsumed();
    return std::none_of(all.begin(), all.end(), [](const auto& each) { return each.peer == 2; });
  }));
  // A network that carries on what it has accepted may call itself drained before the peer has consumed it.
  const bool is_carried_on = stage.port(0).drained();
  const std::vector<Port::Unconsumed> waiting = stage.port(0).unconsumed();
  EXPECT_TRUE(is_carried_on || !waiting.empty());
  for (const Port::Unconsumed& each : waiting) {
    EXPECT_EQ(each.peer, 1);
    EXPECT_GE(each.messages, sent);
    EXPECT_FALSE(each.has_left);
  }
  takes = true;
  EXPECT_TRUE(stage.until([&] { return stage.port(0).drained() && stage.port(0).unconsumed().empty(); }));
}

TEST(Ports, quiesce_when_the_delivery_of_another_thread_has_ended) {
  Stage stage(2);
  std::atomic<bool> is_inside{false};
  std::atomic<bool> may_leave{false};
  std::atomic<bool> has_left{false};
  ASSERT_EQ(stage.send(0, Stage::to(1, 1), payload(8, 1)), SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == 1; }));
  stage.notes(1).takes = [&](std::uint64_t) {
    is_inside = true;
    while (!may_leave) std::this_thread::yield();
    has_left = true;
    return true;
  };
  ASSERT_TRUE(weft::test::until(
      [&] { return stage.port(0).send(Stage::to(1, 2), payload(8, 2)) == SendResult::sent; },
      [&] { stage[0].poll(); }));
  std::atomic<bool> stops{false};
  std::thread deliverer([&] {
    while (!is_inside && !stops) stage[1].poll();
  });
  const bool entered = weft::test::until([&] { return is_inside.load(); }, [&] { stage[0].poll(); });
  std::atomic<bool> has_quiesced{false};
  std::thread owner([&] {
    stage.port(1).quiesce();
    EXPECT_TRUE(has_left || !entered);
    has_quiesced = true;
  });
  for (int round = 0; round < 100 && entered; ++round) {
    std::this_thread::yield();
    EXPECT_FALSE(has_quiesced);
  }
  may_leave = true;
  stops = true;
  deliverer.join();
  owner.join();
  EXPECT_TRUE(entered);
  EXPECT_TRUE(has_quiesced);
}

TEST(Ranks, that_send_to_themselves_have_contacted_themselves) {
  Stage stage(2);
  ASSERT_EQ(stage.send(0, Stage::to(0, 1), payload(8, 1)), SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(0).arrivals.size() == 1; }));
  EXPECT_TRUE(stage[0].network->has_contacted_itself());
  EXPECT_FALSE(stage.port(0).is_cut_off());
}

TEST(Ranks, learn_that_a_peer_is_closing_and_that_it_has_left) {
  Stage stage(3);
  // The only thread of a process cannot wait for a rank that lives in it.
  std::atomic<bool> ends{false};
  std::thread second([&] {
    while (!ends) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  const auto end = [&](void*) {
    ends = true;
    second.join();
  };
  const std::unique_ptr<void, decltype(end)> ends_with_the_test(&stage, end);
  for (const int from : {0, 2}) {
    ASSERT_EQ(stage.send(from, Stage::to(1, 1), payload(8, 1)), SendResult::sent);
    ASSERT_EQ(stage.send(1, Stage::to(from, 1), payload(8, 1)), SendResult::sent);
  }
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == 2 && stage.drained(); }));
  Network& network = *stage[0].network;
  EXPECT_EQ(network.taker_of(1), Network::Taker::living);
  stage[1].network->publish_closing(Network::Closing::runtime);
  ASSERT_TRUE(stage.until([&] { return network.taker_of(1) != Network::Taker::living; }));
  const std::atomic<std::uint32_t>* const departures = network.departures();
  const std::uint32_t before = departures != nullptr ? departures->load() : 0;
  stage.leave(1);
  ASSERT_TRUE(stage.until([&] { return stage.port(0).has_left(1); }));
  EXPECT_FALSE(stage.port(0).has_left(2));
  EXPECT_EQ(network.taker_of(2), Network::Taker::living);
  if (departures != nullptr) {
    ASSERT_TRUE(stage.until([&] { return departures->load() != before; }));
    EXPECT_TRUE(network.has_left(1));
    EXPECT_FALSE(network.has_failed(1)) << "it has left in order";
  }
  network.peer_departed(1);
  ASSERT_TRUE(stage.until([&] { return stage.port(0).reclaim(1); }));
  EXPECT_EQ(stage.send(0, Stage::to(1, 2), payload(8, 2)), SendResult::peer_left);
  ASSERT_EQ(stage.send(0, Stage::to(2, 3), payload(8, 3)), SendResult::sent) << "others are as they were";
  ASSERT_TRUE(stage.until([&] { return stage.drained(); }));
}

TEST(Ranks, that_leave_do_not_take_along_the_messages_that_they_have_left) {
  Stage stage(2);
  ASSERT_EQ(stage.send(0, Stage::to(1, 1), payload(8, 1)), SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == 1 && stage.drained(); }));
  if (!stage[0].network->keeps_messages_for(1))
    GTEST_SKIP() << "a rank of this network stays until its messages have been consumed";
  for (std::uint64_t word = 2; word < 5; ++word)
    ASSERT_TRUE(weft::test::until(
        [&] { return stage.port(0).send(Stage::to(1, word), payload(8, word)) == SendResult::sent; },
        [&] { stage[0].poll(); }));
  stage.leave(0);
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == 4; }));
  EXPECT_TRUE(weft::test::matches(stage.notes(1).arrivals.back().bytes, stage.notes(1).arrivals.back().word));
}

}  // namespace
}  // namespace weft::network::test
