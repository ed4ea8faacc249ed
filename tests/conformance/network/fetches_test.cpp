// Fetches of memory that a peer offers, and messages that are staged: what networks that can do it promise,
// and what the others answer.
#include "conformance/network/stage.hpp"
#include "network/unsent.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace weft::network::test {
namespace {

/// Two ranks that have spoken with each other, without the chance refusals of the simulated network.
class Pair : public Stage {
 public:
  Pair() : Stage(2, weft::test::kNoSurprises) {
    for (const int from : {0, 1}) {
      EXPECT_EQ(send(from, to(1 - from, 0), {}), SendResult::sent);
      EXPECT_TRUE(until([&] { return notes(1 - from).arrivals.size() == 1; }));
    }
  }
  [[nodiscard]] bool can_fetch() { return port(0).peer_capabilities(1).can_fetch; }
  /// Offers to rank 0 until the network takes the offer.
  [[nodiscard]] Offer offer(Bytes memory) {
    Offer offer;
    EXPECT_TRUE(until([&] { return (offer = port(1).offer(0, memory, {})).key != 0; }));
    return offer;
  }
  /// Rank 0 fetches until the network accepts that; the answer that is not a matter of time.
  AccessResult fetch(const OfferedMemory& from, std::span<std::byte> to, std::uint64_t token) {
    AccessResult result = AccessResult::no_slot;
    EXPECT_TRUE(until([&] {
      result = port(0).fetch(1, from, to, token);
      return result != AccessResult::no_slot && result != AccessResult::lock_contended &&
             result != AccessResult::not_ready;
    }));
    return result;
  }
  [[nodiscard]] static std::uint64_t address_of(const std::vector<std::byte>& memory) {
    return reinterpret_cast<std::uint64_t>(memory.data());
  }
};

TEST(Fetches, that_a_network_cannot_do_are_unsupported) {
  Pair pair;
  if (pair.can_fetch()) GTEST_SKIP() << "this network can";
  const std::vector<std::byte> memory = payload(100'000, 1);
  std::vector<std::byte> room(memory.size());
  const Offer offer = pair.port(1).offer(0, memory, {});
  if (pair.port(1).peer_capabilities(0).landing_bytes == 0)
    EXPECT_EQ(offer.key, 0U);
  else
    pair.port(1).end_offer(0, offer);
  EXPECT_EQ(pair.fetch({Pair::address_of(memory), 1, 0, 0}, room, 7), AccessResult::unsupported);
}

TEST(Fetches, bring_the_bytes_that_a_peer_offers) {
  Pair pair;
  if (!pair.can_fetch()) GTEST_SKIP() << "this network cannot";
  for (const std::size_t size : {std::size_t{1}, std::size_t{5000}, std::size_t{3} << 20}) {
    const std::vector<std::byte> memory = payload(size, size);
    std::vector<std::byte> room(size);
    const Offer offer = pair.offer(memory);
    ASSERT_EQ(pair.fetch({Pair::address_of(memory), offer.key, 0, 0}, room, size), AccessResult::posted);
    ASSERT_TRUE(pair.until([&] { return pair.notes(0).ended.contains(size); }));
    EXPECT_EQ(pair.notes(0).ended[size], Outcome::ok);
    EXPECT_EQ(room, memory);
    pair.port(1).end_offer(0, offer);
  }
}

TEST(Fetches, from_within_an_offer_begin_where_they_should) {
  Pair pair;
  if (!pair.can_fetch()) GTEST_SKIP() << "this network cannot";
  const std::vector<std::byte> memory = payload(10'000, 3);
  std::vector<std::byte> room(4000);
  const Offer offer = pair.offer(memory);
  ASSERT_EQ(pair.fetch({Pair::address_of(memory), offer.key, 6000, 0}, room, 1), AccessResult::posted);
  ASSERT_TRUE(pair.until([&] { return !pair.notes(0).ended.empty(); }));
  EXPECT_EQ(std::memcmp(room.data(), memory.data() + 6000, room.size()), 0);
  pair.port(1).end_offer(0, offer);
}

TEST(Fetches, more_than_are_under_way_at_a_time_all_end_once) {
  Pair pair;
  if (!pair.can_fetch()) GTEST_SKIP() << "this network cannot";
  constexpr std::uint64_t kFetches = 300;
  constexpr std::size_t kBytes = 20'000;
  const std::vector<std::byte> memory = payload(kBytes, 5);
  std::vector<std::vector<std::byte>> rooms(kFetches, std::vector<std::byte>(kBytes));
  const Offer offer = pair.offer(memory);
  for (std::uint64_t next = 0; next < kFetches; ++next)
    ASSERT_EQ(pair.fetch({Pair::address_of(memory), offer.key, 0, 0}, rooms[next], next),
              AccessResult::posted);
  ASSERT_TRUE(pair.until([&] { return pair.notes(0).ended.size() == kFetches; }));
  for (const std::vector<std::byte>& room : rooms) EXPECT_EQ(room, memory);
  pair.port(1).end_offer(0, offer);
}

TEST(Fetches, that_were_stopped_write_nothing_any_more) {
  Pair pair;
  if (!pair.can_fetch()) GTEST_SKIP() << "this network cannot";
  const std::vector<std::byte> memory = payload(std::size_t{8} << 20, 5);
  std::vector<std::byte> room(memory.size());
  const Offer offer = pair.offer(memory);
  ASSERT_EQ(pair.fetch({Pair::address_of(memory), offer.key, 0, 0}, room, 1), AccessResult::posted);
  pair.port(0).stop_fetches();
  const std::vector<std::byte> before = room;
  for (int poll = 0; poll < 1000; ++poll) pair[1].poll();
  EXPECT_EQ(room, before);
  EXPECT_TRUE(pair.notes(0).ended.empty());
  pair.port(1).end_offer(0, offer);
  // What has stopped its fetches is about to end, and may not be reached any more.
  pair.leave(0);
}

TEST(StagedMessages, arrive_after_a_flush_without_a_poll_of_their_sender) {
  Pair pair;
  constexpr std::uint64_t kCount = 40;
  std::uint64_t sent = 0;
  for (; sent < kCount; ++sent)
    if (pair.port(0).send(Stage::to(1, sent), payload(8, sent)) != SendResult::sent) break;
  ASSERT_GT(sent, 1U);
  ASSERT_TRUE(weft::test::until([&] { return pair.port(0).flush(); }, [] {}));
  // Nothing is left for who would carry it a moment later.
  if (auto* const holds = dynamic_cast<HoldsUnsent*>(&pair.port(0)); holds != nullptr) {
    std::vector<std::string> lines;
    holds->describe_unsent(lines);
    for (const std::string& line : lines) EXPECT_EQ(line.find("staged"), std::string::npos) << line;
  }
  ASSERT_TRUE(
      weft::test::until([&] { return pair.notes(1).arrivals.size() == 1 + sent; }, [&] { pair[1].poll(); }));
}

TEST(StagedMessages, of_many_sizes_arrive_in_order_where_order_is_kept_and_complete_everywhere) {
  Pair pair;
  std::map<std::uint64_t, std::size_t> expected;
  std::uint64_t word = 0;
  for (int round = 0; round < 20; ++round) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{63}, kSmallestSend}) {
      expected[++word] = size;
      ASSERT_EQ(pair.send(0, Stage::to(1, word), payload(size, word)), SendResult::sent);
    }
    expected[++word] = 3000;
    ASSERT_EQ(pair.send_packet(0, Stage::to(1, word), payload(3000, word)), SendResult::sent);
  }
  auto& arrivals = pair.notes(1).arrivals;
  ASSERT_TRUE(pair.until([&] { return arrivals.size() == 1 + expected.size(); }));
  std::map<std::uint64_t, std::vector<std::byte>> arrived;
  for (std::size_t next = 1; next < arrivals.size(); ++next) {
    if (pair.port(0).peer_capabilities(1).keeps_order) {
      EXPECT_EQ(arrivals[next].word, next);
    }
    EXPECT_TRUE(arrived.emplace(arrivals[next].word, arrivals[next].bytes).second) << "arrived twice";
  }
  for (const auto& [each, size] : expected) EXPECT_EQ(arrived[each], payload(size, each)) << each;
}

TEST(StagedMessages, that_the_sink_refuses_come_again_in_order) {
  Pair pair;
  constexpr std::uint64_t kCount = 30;
  for (std::uint64_t word = 1; word <= kCount; ++word)
    ASSERT_EQ(pair.send(0, Stage::to(1, word), payload(8, word)), SendResult::sent);
  std::map<std::uint64_t, int> asked;
  pair.notes(1).takes = [&](std::uint64_t word) { return ++asked[word] > 2; };
  ASSERT_TRUE(pair.until([&] { return pair.notes(1).arrivals.size() == 1 + kCount; }));
  std::uint64_t sum = 0;
  for (const Notes::Arrival& each : pair.notes(1).arrivals) sum += each.word;
  EXPECT_EQ(sum, kCount * (kCount + 1) / 2);
}

}  // namespace
}  // namespace weft::network::test
