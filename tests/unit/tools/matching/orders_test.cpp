#include "study/matching/model/orders.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace weft::tools::study {
namespace {

constexpr ArrivalOrder kOrders[] = {ArrivalOrder::in_order, ArrivalOrder::reversed, ArrivalOrder::random,
                                    ArrivalOrder::interleaved};
constexpr const char* kShapes[] = {"naive:40", "5pt:9x5", "9pt:6x6", "7pt:1x1x12", "27pt:3x4x5"};

void expect_permutation(MessageOrder order, const HaloExchange& exchange) {
  std::ranges::sort(order);
  ASSERT_EQ(order.size(), exchange.messages.size());
  for (std::uint32_t message = 0; message < order.size(); ++message) ASSERT_EQ(order[message], message);
}

/// Whether messages of one thread come in the order in which it sends or receives them.
bool keeps_order(const MessageOrder& order, const HaloExchange& exchange, std::uint32_t HaloMessage::*thread,
                 std::uint32_t HaloMessage::*place) {
  std::vector<std::uint32_t> next(exchange.messages.size());
  return std::ranges::all_of(order, [&](std::uint32_t index) {
    const HaloMessage& message = exchange.messages[index];
    return message.*place == next[message.*thread]++;
  });
}

TEST(ArrivalOrders, are_permutations_of_all_messages) {
  for (const char* shape : kShapes) {
    const HaloExchange exchange = enumerate_halo(parse_decomposition(shape));
    const MessageOrder posted = posted_in_turns(exchange);
    expect_permutation(posted, exchange);
    expect_permutation(posted_concurrently(exchange, 3), exchange);
    for (const ArrivalOrder order : kOrders)
      expect_permutation(arrival_order(exchange, posted, order, 7), exchange);
  }
}

TEST(ArrivalOrders, follow_or_reverse_the_order_of_posting) {
  const HaloExchange exchange = enumerate_halo(parse_decomposition("9pt:6x6"));
  MessageOrder posted = posted_concurrently(exchange, 5);
  EXPECT_EQ(arrival_order(exchange, posted, ArrivalOrder::in_order, 1), posted);
  const MessageOrder reversed = arrival_order(exchange, posted, ArrivalOrder::reversed, 1);
  std::ranges::reverse(posted);
  EXPECT_EQ(reversed, posted);
}

TEST(ArrivalOrders, depend_on_the_seed_and_on_nothing_else) {
  const HaloExchange exchange = enumerate_halo(parse_decomposition("27pt:4x4x4"));
  const MessageOrder posted = posted_in_turns(exchange);
  for (const ArrivalOrder order : {ArrivalOrder::random, ArrivalOrder::interleaved}) {
    EXPECT_EQ(arrival_order(exchange, posted, order, 1), arrival_order(exchange, posted, order, 1));
    EXPECT_NE(arrival_order(exchange, posted, order, 1), arrival_order(exchange, posted, order, 2));
  }
  EXPECT_NE(posted_concurrently(exchange, 1), posted_concurrently(exchange, 2));
}

TEST(ArrivalOrders, keep_the_order_of_each_thread_when_interleaved) {
  for (const char* shape : kShapes) {
    const HaloExchange exchange = enumerate_halo(parse_decomposition(shape));
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const MessageOrder arrivals = arrival_order(exchange, {}, ArrivalOrder::interleaved, seed);
      EXPECT_TRUE(keeps_order(arrivals, exchange, &HaloMessage::sender, &HaloMessage::index_at_sender));
      const MessageOrder posted = posted_concurrently(exchange, seed);
      EXPECT_TRUE(keeps_order(posted, exchange, &HaloMessage::receiver, &HaloMessage::index_at_receiver));
    }
    EXPECT_TRUE(keeps_order(posted_in_turns(exchange), exchange, &HaloMessage::receiver,
                            &HaloMessage::index_at_receiver));
  }
}

TEST(ArrivalOrders, interleave_fairly) {
  // Each of two senders that have three messages begins in half of the seeds; 400 of 1,000 would be six
  // standard deviations away.
  HaloExchange exchange;
  exchange.counts = {1, 2, 6};
  for (std::uint32_t index = 0; index < 6; ++index)
    exchange.messages.push_back(
        {.sender = index / 3, .receiver = 0, .index_at_sender = index % 3, .index_at_receiver = index});
  int first_begins = 0;
  for (std::uint64_t seed = 0; seed < 1'000; ++seed)
    if (arrival_order(exchange, {}, ArrivalOrder::interleaved, seed).front() == 0) ++first_begins;
  EXPECT_GT(first_begins, 400);
  EXPECT_LT(first_begins, 600);
}

TEST(ArrivalOrders, put_every_message_in_every_place_when_random) {
  const HaloExchange exchange = enumerate_halo(parse_decomposition("naive:3"));
  std::set<MessageOrder> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    seen.insert(arrival_order(exchange, posted_in_turns(exchange), ArrivalOrder::random, seed));
  EXPECT_EQ(seen.size(), 6U);
}

TEST(StridedTags, are_unique_and_ascend_when_threads_take_turns) {
  for (const char* shape : kShapes) {
    const HaloExchange exchange = enumerate_halo(parse_decomposition(shape));
    const std::vector<std::uint64_t> tags = strided_tags(exchange);
    EXPECT_EQ(std::set<std::uint64_t>(tags.begin(), tags.end()).size(), exchange.messages.size());
    for (std::size_t index = 0; index < tags.size(); ++index)
      EXPECT_EQ(tags[index] % exchange.counts.receivers, exchange.messages[index].receiver);
    EXPECT_TRUE(std::ranges::is_sorted(posted_in_turns(exchange), {},
                                       [&](std::uint32_t message) { return tags[message]; }));
  }
}

TEST(MessagesOfThreads, are_all_messages_in_the_order_of_each) {
  const HaloExchange exchange = enumerate_halo(parse_decomposition("27pt:3x4x5"));
  const auto joined = [](const std::vector<MessageOrder>& lists) {
    MessageOrder order;
    for (const MessageOrder& list : lists) order.insert(order.end(), list.begin(), list.end());
    return order;
  };
  const std::vector<MessageOrder> senders = messages_by_sender(exchange);
  EXPECT_EQ(senders.size(), exchange.counts.senders);
  expect_permutation(joined(senders), exchange);
  EXPECT_TRUE(keeps_order(joined(senders), exchange, &HaloMessage::sender, &HaloMessage::index_at_sender));
  const std::vector<MessageOrder> receivers = messages_by_receiver(exchange);
  EXPECT_EQ(receivers.size(), exchange.counts.receivers);
  expect_permutation(joined(receivers), exchange);
  EXPECT_TRUE(
      keeps_order(joined(receivers), exchange, &HaloMessage::receiver, &HaloMessage::index_at_receiver));
}

}  // namespace
}  // namespace weft::tools::study
