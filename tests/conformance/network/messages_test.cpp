// What every network promises about messages.
#include "conformance/network/stage.hpp"

#include <weft/detail/lane.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

namespace weft::network::test {
namespace {

constexpr std::array kAll{TrafficClass::data, TrafficClass::control, TrafficClass::urgent, TrafficClass::bulk,
                          TrafficClass::rendezvous_data};
static_assert(kAll.size() == kTrafficClasses);

TEST(Messages, of_every_size_arrive_once_and_whole_in_every_class) {
  Stage stage(2);
  std::uint64_t word = 0;
  const std::size_t largest = std::max(stage.port(0).capabilities().inline_bytes, kSmallestSend);
  for (const TrafficClass traffic : kAll)
    for (std::size_t size = 0; size <= largest; size += size < 72 ? 1 : 61) {
      ++word;
      ASSERT_EQ(stage.send(0, Stage::to(1, word, traffic), payload(size, word)), SendResult::sent);
      ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == word; })) << size;
      const Notes::Arrival& arrival = stage.notes(1).arrivals.back();
      EXPECT_EQ(arrival.peer, 0);
      EXPECT_EQ(arrival.word, word);
      EXPECT_EQ(arrival.bytes, payload(size, word));
    }
}

TEST(Messages, in_packets_arrive_and_their_packets_come_back) {
  Stage stage(2, {{"packets", "16"}});
  const std::size_t room = stage[0].pool.payload() + Network::kPacketTrailer;
  std::uint64_t word = 0;
  for (int round = 0; round < 20; ++round)
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, room - 16, room}) {
      ++word;
      ASSERT_EQ(stage.send_packet(0, Stage::to(1, word), payload(size, word)), SendResult::sent);
      ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == word; }));
      EXPECT_EQ(stage.notes(1).arrivals.back().bytes, payload(size, word));
    }
}

TEST(Messages, to_oneself_and_to_all_others_arrive) {
  constexpr int kRanks = 4;
  Stage stage(kRanks);
  for (int from = 0; from < kRanks; ++from)
    for (int to = 0; to < kRanks; ++to)
      ASSERT_EQ(stage.send(from, Stage::to(to, static_cast<std::uint64_t>(from)), payload(8, 1)),
                SendResult::sent);
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_TRUE(stage.until([&] { return stage.notes(rank).arrivals.size() == kRanks; }));
    std::vector<int> peers;
    for (const Notes::Arrival& arrival : stage.notes(rank).arrivals) {
      EXPECT_EQ(static_cast<std::uint64_t>(arrival.peer), arrival.word);
      peers.push_back(arrival.peer);
    }
    std::sort(peers.begin(), peers.end());
    EXPECT_EQ(peers, (std::vector<int>{0, 1, 2, 3}));
  }
}

TEST(Messages, that_are_not_taken_stay_and_control_passes_them) {
  Stage stage(2);
  bool takes_data = false;
  stage.notes(1).takes = [&](std::uint64_t word) { return takes_data || word >= 1000; };
  std::uint64_t sent = 0;
  // Until the network says no, or for a good while.
  ASSERT_TRUE(stage.until([&] {
    const SendResult result = stage.port(0).send(Stage::to(1, sent), payload(8, sent));
    if (result == SendResult::sent) ++sent;
    return (result == SendResult::no_slot && sent >= 4) || sent == 400;
  }));
  EXPECT_TRUE(stage.notes(1).arrivals.empty());
  EXPECT_FALSE(stage.port(0).drained());
  EXPECT_NE(stage.port(0).undelivered().find("rank 1"), std::string::npos) << stage.port(0).undelivered();
  for (std::uint64_t word = 1000; word < 1100; ++word)
    ASSERT_EQ(stage.send(0, Stage::to(1, word, TrafficClass::control), payload(8, word)), SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == 100; }));
  takes_data = true;
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == 100 + sent; }));
  std::vector<bool> seen(sent);
  for (std::size_t index = 100; index < 100 + sent; ++index) {
    const Notes::Arrival& arrival = stage.notes(1).arrivals[index];
    ASSERT_LT(arrival.word, sent);
    EXPECT_FALSE(seen[arrival.word]);
    seen[arrival.word] = true;
    EXPECT_EQ(arrival.bytes, payload(8, arrival.word));
  }
  ASSERT_TRUE(stage.until([&] { return stage.port(0).drained(); }));
  EXPECT_EQ(stage.port(0).undelivered(), "");
}

TEST(Messages, of_any_class_that_are_not_taken_hold_back_no_other) {
  for (const TrafficClass held : kAll) {
    SCOPED_TRACE(static_cast<int>(held));
    Stage stage(2);
    bool takes_all = false;
    stage.notes(1).takes = [&](std::uint64_t word) { return takes_all || word >= 1000; };
    std::uint64_t sent = 0;
    ASSERT_TRUE(stage.until([&] {
      const SendResult result = stage.port(0).send(Stage::to(1, sent, held), payload(8, sent));
      if (result == SendResult::sent) ++sent;
      return (result == SendResult::no_slot && sent >= 2) || sent == 400;
    }));
    std::size_t others = 0;
    for (const TrafficClass traffic : kAll) {
      if (traffic == held) continue;
      for (std::uint64_t word = 1000; word < 1050; ++word, ++others)
        ASSERT_EQ(stage.send(0, Stage::to(1, word, traffic), payload(8, word)), SendResult::sent);
    }
    ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == others; }));
    takes_all = true;
    ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == others + sent; }));
  }
}

TEST(Messages, that_wait_for_a_poll_come_in_the_order_of_their_urgency) {
  Stage stage(2, weft::test::kNoSurprises);
  std::uint64_t met = 0;
  for (const TrafficClass traffic : kAll)
    ASSERT_EQ(stage.send(0, Stage::to(1, met++, traffic), {}), SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == met; }));
  stage.notes(1).arrivals.clear();
  // The least urgent first; the word tells the class. As many as every network takes of each.
  constexpr std::size_t kEach = kBulkPerPoll + 2;
  for (const TrafficClass traffic : {TrafficClass::bulk, TrafficClass::data, TrafficClass::urgent})
    for (std::size_t count = 0; count < kEach; ++count)
      ASSERT_TRUE(weft::test::until(
          [&] {
            return stage.port(0).send(Stage::to(1, static_cast<std::uint64_t>(traffic), traffic), {}) ==
                   SendResult::sent;
          },
          [] {}));
  ASSERT_TRUE(weft::test::until([&] { return !stage.notes(1).arrivals.empty(); }, [&] { stage[1].poll(); }));
  const auto count_of = [&](TrafficClass traffic) {
    return std::count_if(
        stage.notes(1).arrivals.begin(), stage.notes(1).arrivals.end(),
        [&](const Notes::Arrival& each) { return each.word == static_cast<std::uint64_t>(traffic); });
  };
  EXPECT_LE(count_of(TrafficClass::bulk), static_cast<std::ptrdiff_t>(kBulkPerPoll));
  // Nothing of what came with the first poll came before something more urgent of it.
  EXPECT_TRUE(std::is_sorted(stage.notes(1).arrivals.begin(), stage.notes(1).arrivals.end(),
                             [](const Notes::Arrival& a, const Notes::Arrival& b) {
                               return urgency_of(static_cast<TrafficClass>(a.word)) <
                                      urgency_of(static_cast<TrafficClass>(b.word));
                             }));
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == 3 * kEach; }));
}

TEST(Messages, that_are_kept_outlive_their_delivery) {
  Stage stage(2);
  stage.notes(1).keeps = true;
  constexpr std::uint64_t kCount = 200;
  for (std::uint64_t word = 0; word < kCount; ++word)
    ASSERT_EQ(word % 2 == 0 ? stage.send(0, Stage::to(1, word), payload(word % 49, word))
                            : stage.send_packet(0, Stage::to(1, word), payload(100 + word * 10, word)),
              SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).kept.size() == kCount; }));
  for (std::size_t index = 0; index < kCount; ++index) {
    const Message& message = stage.notes(1).kept[index];
    const std::uint64_t word = stage.notes(1).arrivals[index].word;
    EXPECT_TRUE(weft::test::matches(message.bytes(), word)) << word;
  }
}

TEST(Messages, to_a_device_that_is_not_open_yet_are_not_ready) {
  const base::Attributes attributes = base::Attributes::load({});
  bootstrap::Hub hub(2);
  Rank sender(hub, 0, attributes);
  Rank late(hub, 1, attributes, true);
  for (int round = 0; round < 50; ++round) {
    const SendResult result = sender.port->send(Stage::to(1, 7), payload(8, 7));
    EXPECT_TRUE(result == SendResult::not_ready || result == SendResult::lock_contended ||
                result == SendResult::no_slot)
        << static_cast<int>(result);
    sender.poll();
  }
  late.open();
  ASSERT_TRUE(
      weft::test::until([&] { return sender.port->send(Stage::to(1, 7), payload(8, 7)) == SendResult::sent; },
                        [&] { sender.poll(), late.poll(); }));
  ASSERT_TRUE(weft::test::until([&] { return late.notes.arrivals.size() == 1; },
                                [&] { sender.poll(), late.poll(); }));
  ASSERT_TRUE(weft::test::until([&] { return sender.port->drained() && late.port->drained(); },
                                [&] { sender.poll(), late.poll(); }));
}

TEST(Messages, to_a_handle_follow_what_its_owner_says_of_it) {
  Stage stage(2);
  const RemoteCompletion handle(5, 1, 0);
  const std::uint64_t word = detail::handle_word(handle, 0);
  Outgoing outgoing = Stage::to(1, word);
  outgoing.to_handle = true;
  const auto answers = [&](SendResult expected) {
    return stage.until([&] { return stage.port(0).send(outgoing, payload(8, 1)) == expected; });
  };
  ASSERT_TRUE(answers(SendResult::not_ready));
  EXPECT_TRUE(stage.notes(1).arrivals.empty());
  stage[1].network->publish_handle(5, 1, HandleState::open);
  ASSERT_TRUE(answers(SendResult::sent));
  stage[1].network->publish_handle(5, 1, HandleState::stopped);
  ASSERT_TRUE(answers(SendResult::no_credit));
  stage[1].network->publish_handle(5, 1, HandleState::open);
  ASSERT_TRUE(answers(SendResult::sent));
  // Withdrawn ones are sent: the receiver refuses, counts and reports.
  stage[1].network->publish_handle(5, 1, HandleState::withdrawn);
  ASSERT_TRUE(answers(SendResult::sent));
}

TEST(Messages, to_many_handles_that_were_exposed_before_the_first_contact_are_sent) {
  Stage stage(3);
  stage.expose_handles(0, 32);
  for (const int from : {1, 2}) EXPECT_TRUE(stage.reaches_handles(from, 0, 32));
}

TEST(Messages, towards_a_rank_that_has_left_have_nobody_to_go_to) {
  Stage stage(2);
  ASSERT_EQ(stage.send(0, Stage::to(1, 1), payload(8, 1)), SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.drained(); }));
  EXPECT_FALSE(stage.port(0).has_left(1));
  stage.leave(1);
  ASSERT_TRUE(stage.until([&] { return stage.port(0).has_left(1); }));
  EXPECT_EQ(stage.send(0, Stage::to(1, 2), payload(8, 2)), SendResult::peer_left);
  ASSERT_TRUE(stage.until([&] { return stage.port(0).drained(); }));
}

TEST(Messages, of_many_threads_arrive_once_each) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kEach = 400;
  Stage stage(2);
  ASSERT_EQ(stage.send(0, Stage::to(1, ~std::uint64_t{0}), {}), SendResult::sent);
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (std::uint64_t number = 0; number < kEach; ++number) {
        const std::uint64_t word = static_cast<std::uint64_t>(thread) * kEach + number;
        const auto bytes = payload(8 + word % 40, word);
        while (stage.port(0).send(Stage::to(1, word), bytes) != SendResult::sent) std::this_thread::yield();
      }
      --running;
    });
  // Notes belong to one thread: the ports are polled by this one only.
  const bool ended =
      stage.until([&] { return running == 0 && stage.notes(1).arrivals.size() == kThreads * kEach + 1; });
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(ended);
  std::vector<bool> seen(kThreads * kEach);
  for (const Notes::Arrival& arrival : stage.notes(1).arrivals) {
    if (arrival.word == ~std::uint64_t{0}) continue;
    ASSERT_LT(arrival.word, seen.size());
    EXPECT_FALSE(seen[arrival.word]);
    seen[arrival.word] = true;
    EXPECT_EQ(arrival.bytes, payload(8 + arrival.word % 40, arrival.word));
  }
}

TEST(Messages, end_a_park_and_so_does_a_wake) {
  Stage stage(2);
  ASSERT_EQ(stage.send(0, Stage::to(1, 1), payload(8, 1)), SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == 1; }));
  // A sleeper without a limit worth mentioning: only what is tested can end it in time.
  const auto sleep_until_more = [&](std::atomic<bool>& stop) {
    return std::thread([&] {
      while (!stop && stage.notes(1).arrivals.size() < 2) {
        const std::uint32_t token = stage.port(1).park_token();
        if (stage[1].poll() != 0 || !stage.port(1).prepare_park()) continue;
        stage.port(1).park(token, 1, std::chrono::seconds(20));
      }
    });
  };
  std::atomic<bool> stop{false};
  std::thread sleeper = sleep_until_more(stop);
  while (stage.port(0).send(Stage::to(1, 2), payload(8, 2)) != SendResult::sent) stage[0].poll();
  // Networks with credits of their own need the sender's polls as well.
  std::atomic<bool> joined{false};
  std::thread poller([&] {
    while (!joined) stage[0].poll(), std::this_thread::yield();
  });
  sleeper.join();
  EXPECT_EQ(stage.notes(1).arrivals.size(), 2U);
  stage.notes(1).arrivals.pop_back();
  sleeper = sleep_until_more(stop);
  while (!stage.port(1).has_parked()) std::this_thread::yield();
  stop = true;
  stage.port(1).wake(1);
  sleeper.join();
  joined = true;
  poller.join();
}

}  // namespace
}  // namespace weft::network::test
