#include "study/matching/model/orders.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace weft::tools::study {

namespace {

/// What the standard library's distributions and shuffles make of a seed differs between implementations.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : generator_(seed) {}
  /// A number below `bound`, which is far below 2^64: that some are likelier than others does not show.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(generator_() % bound); }

 private:
  std::mt19937_64 generator_;
};

MessageOrder all_of(const HaloExchange& exchange) {
  MessageOrder order(exchange.messages.size());
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

std::vector<MessageOrder> by_thread(const HaloExchange& exchange, std::uint64_t threads,
                                    std::uint32_t HaloMessage::*thread, std::uint32_t HaloMessage::*index) {
  std::vector<MessageOrder> lists(threads);
  for (const std::uint32_t message : all_of(exchange)) {
    MessageOrder& list = lists[exchange.messages[message].*thread];
    const std::size_t position = exchange.messages[message].*index;
    if (list.size() <= position) list.resize(position + 1);
    list[position] = message;
  }
  return lists;
}

MessageOrder interleave(const std::vector<MessageOrder>& lists, std::uint64_t seed) {
  struct Rest {
    const MessageOrder* list;
    std::size_t next;
  };
  std::vector<Rest> rests;
  for (const MessageOrder& list : lists)
    if (!list.empty()) rests.push_back({.list = &list, .next = 0});
  Draws draws(seed);
  MessageOrder order;
  while (!rests.empty()) {
    Rest& rest = rests[draws.below(rests.size())];
    order.push_back((*rest.list)[rest.next++]);
    if (rest.next < rest.list->size()) continue;
    rest = rests.back();
    rests.pop_back();
  }
  return order;
}

MessageOrder shuffle(MessageOrder order, std::uint64_t seed) {
  Draws draws(seed);
  for (std::size_t rest = order.size(); rest > 1; --rest)
    std::swap(order[rest - 1], order[draws.below(rest)]);
  return order;
}

}  // namespace

MessageOrder arrival_order(const HaloExchange& exchange, const MessageOrder& posted, ArrivalOrder order,
                           std::uint64_t seed) {
  switch (order) {
    case ArrivalOrder::in_order:
      return posted;
    case ArrivalOrder::reversed:
      return {posted.rbegin(), posted.rend()};
    case ArrivalOrder::random:
      return shuffle(posted, seed);
    case ArrivalOrder::interleaved:
      break;
  }
  return interleave(messages_by_sender(exchange), seed);
}

std::vector<std::uint64_t> strided_tags(const HaloExchange& exchange) {
  std::vector<std::uint64_t> tags;
  tags.reserve(exchange.messages.size());
  for (const HaloMessage& message : exchange.messages)
    tags.push_back(message.receiver + message.index_at_receiver * exchange.counts.receivers);
  return tags;
}

MessageOrder posted_in_turns(const HaloExchange& exchange) {
  const std::vector<std::uint64_t> tags = strided_tags(exchange);
  MessageOrder order = all_of(exchange);
  std::ranges::sort(order, {}, [&](std::uint32_t message) { return tags[message]; });
  return order;
}

MessageOrder posted_concurrently(const HaloExchange& exchange, std::uint64_t seed) {
  return interleave(messages_by_receiver(exchange), seed);
}

std::vector<MessageOrder> messages_by_sender(const HaloExchange& exchange) {
  return by_thread(exchange, exchange.counts.senders, &HaloMessage::sender, &HaloMessage::index_at_sender);
}

std::vector<MessageOrder> messages_by_receiver(const HaloExchange& exchange) {
  return by_thread(exchange, exchange.counts.receivers, &HaloMessage::receiver,
                   &HaloMessage::index_at_receiver);
}

}  // namespace weft::tools::study
