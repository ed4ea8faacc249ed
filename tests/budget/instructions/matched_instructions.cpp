// Sends that meet posted receives: post_receive, post_send and progress together.
#include "instructions.hpp"

#include <array>
#include <memory>
#include <type_traits>
#include <vector>

namespace weft::budget {
namespace {

constexpr std::uint16_t kSerialEngine = 1;
constexpr std::uint16_t kOrderedEngine = kMatchingEngines;

enum class Receives { before, after };          // the messages have arrived
enum class Names { one, any_source, any_tag };  // what receives name; any_tag: by a mask, in a context

/// Which messages a path exchanges. `tags`: how many different ones those of a burst have.
struct Kind {
  std::uint16_t engine = kSerialEngine;
  std::uint64_t tags = 1;
  std::size_t size = 8;
  Receives posted = Receives::before;
  Names named = Names::one;
};

// The loops that post have functions of their own: what they execute shall not depend on the code around
// them, which would take their registers.

template <Kind kKind, class EndpointType>
[[gnu::noinline]] void post_receives(Pair<EndpointType>& ranks, std::byte* buffer, Completion& arrived) {
  for (std::uint64_t i = 0; i < kBurst; ++i, buffer += kKind.size)
    while (ranks.receiver
               .post_receive(kKind.named == Names::any_source ? any_source : 0, i % kKind.tags,
                             std::span(buffer, kKind.size),
                             {.completion = &arrived,
                              .engine = kKind.engine,
                              .tag_mask = ~std::uint64_t{0} << (kKind.named == Names::any_tag ? 32 : 0)})
               .is_retry())
      ranks.receiver.progress();
}
template <Kind kKind, class EndpointType, class Sent>
[[gnu::noinline]] void post_sends(Pair<EndpointType>& ranks, const std::byte* payload, Sent sent) {
  for (std::uint64_t i = 0; i < kBurst; ++i)
    while (ranks.sender
               .post_send(1, i % kKind.tags, std::span(payload, kKind.size),
                          {.completion = sent, .engine = kKind.engine})
               .is_retry()) {
      ranks.receiver.progress();
      ranks.sender.progress();
    }
}

/// `done(receives)` sees that the burst is complete.
template <class EndpointType, Kind kKind, class Done, class Sent = std::nullptr_t>
void exchange(std::uint64_t messages, Completion& arrived, const Done& done, Sent sent = nullptr) {
  Pair<EndpointType> ranks;
  std::unique_ptr<MatchingEngine> engines[2];
  if (kKind.engine != 0) {
    const MatchingEngineOptions options{
        .id = kKind.engine,
        .order = kKind.engine < kMatchingEngines ? MatchOrder::unordered : MatchOrder::ordered,
        .serial = std::is_same_v<EndpointType, SerialEndpoint>};
    engines[0] = std::make_unique<MatchingEngine>(ranks.sending, options);
    engines[1] = std::make_unique<MatchingEngine>(ranks.receiving, options);
  }
  const std::vector<std::byte> payload(kKind.size);
  std::vector<std::byte> buffers(kBurst * kKind.size);
  for (std::uint64_t next = 0; next < messages; next += kBurst) {
    if (kKind.posted == Receives::before) post_receives<kKind>(ranks, buffers.data(), arrived);
    post_sends<kKind>(ranks, payload.data(), sent);
    if (kKind.posted == Receives::after) {
      ranks.receiver.progress();
      post_receives<kKind>(ranks, buffers.data(), arrived);
    }
    while (!done(kBurst)) ranks.receiver.progress();
    ranks.sender.progress();
  }
}

/// Counts without atomic operations.
template <class EndpointType, Kind kKind>
void to_handler(std::uint64_t messages) {
  std::uint64_t count = 0;
  Handler handler([&](Message&) noexcept { ++count; });
  exchange<EndpointType, kKind>(messages, handler, [&](std::uint64_t burst) {
    if (count < burst) return false;
    count -= burst;
    return true;
  });
}

template <class EndpointType, Kind kKind>
void to_counter(std::uint64_t messages) {
  Counter counter;
  std::uint64_t before = 0;
  exchange<EndpointType, kKind>(messages, counter, [&](std::uint64_t burst) {
    if (counter.value() - before < burst) return false;
    before += burst;
    return true;
  });
}

/// The ends of sends are told as well.
template <class EndpointType, Kind kKind>
void told(std::uint64_t messages) {
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  Handler on_receive([&](Message&) noexcept { ++received; });
  Handler on_send([&](Message&) noexcept { ++sent; });
  const auto done = [&](std::uint64_t burst) {
    if (received < burst || sent < burst) return false;
    received -= burst;
    sent -= burst;
    return true;
  };
  exchange<EndpointType, kKind>(messages, on_receive, done, &on_send);
}

/// A send and a burst of receives that are prepared once.
void prepared(std::uint64_t messages) {
  Pair<SerialEndpoint> ranks;
  const MatchingEngine sending(ranks.sending, {.id = kSerialEngine, .serial = true});
  const MatchingEngine receiving(ranks.receiving, {.id = kSerialEngine, .serial = true});
  std::uint64_t count = 0;
  Handler handler([&](Message&) noexcept { ++count; });
  const std::uint64_t value = 1;
  std::uint64_t buffers[kBurst] = {};
  auto send = ranks.sender.prepare_send(1, 0, bytes_of(value), {.engine = kSerialEngine});
  std::vector<PersistentReceive<detail::NoLock>> receives;
  for (std::uint64_t& buffer : buffers)
    receives.push_back(ranks.receiver.prepare_receive(0, 0, std::as_writable_bytes(std::span(&buffer, 1)),
                                                      {.completion = &handler, .engine = kSerialEngine}));
  for (std::uint64_t next = 0; next < messages; next += kBurst) {
    for (auto& receive : receives)
      while (receive.start().is_retry()) ranks.receiver.progress();
    for (std::uint64_t i = 0; i < kBurst; ++i)
      while (send.start().is_retry()) {
        ranks.receiver.progress();
        ranks.sender.progress();
      }
    for (; count < kBurst;) ranks.receiver.progress();
    count -= kBurst;
    ranks.sender.progress();
  }
}

void to_synchronizer(std::uint64_t messages) {
  Synchronizer synchronizer(kBurst);
  exchange<SerialEndpoint, Kind{}>(messages, synchronizer, [&](std::uint64_t) {
    if (!synchronizer.test()) return false;
    synchronizer.reset();
    return true;
  });
}

template <class Queue>
void to_queue(std::uint64_t messages) {
  Queue queue;
  std::uint64_t count = 0;
  exchange<SerialEndpoint, Kind{}>(messages, queue, [&](std::uint64_t burst) {
    Message message;
    while (queue.pop(message)) ++count;
    if (count < burst) return false;
    count -= burst;
    return true;
  });
}

constexpr Path kPaths[] = {
    {"matched", to_handler<SerialEndpoint, Kind{}>},
    {"matched_tags", to_handler<SerialEndpoint, Kind{.tags = kBurst}>},
    {"matched_shared", to_handler<Endpoint, Kind{.engine = 0}>},
    {"matched_counter", to_counter<SerialEndpoint, Kind{}>},
    {"matched_counter_shared", to_counter<Endpoint, Kind{.engine = 0}>},
    {"matched_unexpected_counter_shared", to_counter<Endpoint, Kind{.engine = 0, .posted = Receives::after}>},
    {"matched_ordered", to_handler<SerialEndpoint, Kind{kOrderedEngine}>},
    {"matched_ordered_tags", to_handler<SerialEndpoint, Kind{kOrderedEngine, kBurst}>},
    {"matched_ordered_shared", to_handler<Endpoint, Kind{kOrderedEngine}>},
    {"matched_ordered_counter", to_counter<SerialEndpoint, Kind{kOrderedEngine}>},
    {"matched_ordered_counter_shared", to_counter<Endpoint, Kind{kOrderedEngine}>},
    {"matched_ordered_unexpected_counter_shared",
     to_counter<Endpoint, Kind{.engine = kOrderedEngine, .posted = Receives::after}>},
    {"matched_ordered_64", to_handler<SerialEndpoint, Kind{kOrderedEngine, 1, 64}>},
    {"matched_ordered_64_shared", to_handler<Endpoint, Kind{kOrderedEngine, 1, 64}>},
    {"matched_ordered_512", to_handler<SerialEndpoint, Kind{kOrderedEngine, 1, 512}>},
    {"matched_ordered_4k", to_handler<SerialEndpoint, Kind{kOrderedEngine, 1, 4096}>},
    {"matched_ordered_unexpected", to_handler<SerialEndpoint, Kind{kOrderedEngine, 1, 8, Receives::after}>},
    {"matched_ordered_unexpected_64",
     to_handler<SerialEndpoint, Kind{kOrderedEngine, 1, 64, Receives::after}>},
    {"matched_any_source",
     to_handler<SerialEndpoint, Kind{.engine = kOrderedEngine, .named = Names::any_source}>},
    {"matched_any_source_shared",
     to_handler<Endpoint, Kind{.engine = kOrderedEngine, .named = Names::any_source}>},
    {"matched_any_source_unexpected",
     to_handler<SerialEndpoint, Kind{kOrderedEngine, 1, 8, Receives::after, Names::any_source}>},
    {"matched_any_tag", to_handler<SerialEndpoint, Kind{.engine = kOrderedEngine, .named = Names::any_tag}>},
    {"matched_any_tag_shared", to_handler<Endpoint, Kind{.engine = kOrderedEngine, .named = Names::any_tag}>},
    {"matched_any_tag_unexpected",
     to_handler<SerialEndpoint, Kind{kOrderedEngine, 1, 8, Receives::after, Names::any_tag}>},
    {"matched_any_tag_64",
     to_handler<SerialEndpoint, Kind{kOrderedEngine, 1, 64, Receives::before, Names::any_tag}>},
    {"prepared_matched", prepared},
    {"matched_synchronizer", to_synchronizer},
    {"matched_serial_queue", to_queue<SerialCompletionQueue>},
    {"matched_queue", to_queue<CompletionQueue>},
    {"matched_unexpected", to_handler<SerialEndpoint, Kind{.posted = Receives::after}>},
    {"matched_unexpected_shared", to_handler<Endpoint, Kind{.engine = 0, .posted = Receives::after}>},
    {"matched_unexpected_64", to_handler<SerialEndpoint, Kind{.size = 64, .posted = Receives::after}>},
    {"matched_unexpected_64_shared",
     to_handler<Endpoint, Kind{.engine = 0, .size = 64, .posted = Receives::after}>},
    {"matched_64", to_handler<SerialEndpoint, Kind{.size = 64}>},
    {"matched_64_shared", to_handler<Endpoint, Kind{.engine = 0, .size = 64}>},
    {"matched_told", told<SerialEndpoint, Kind{}>},
    {"matched_told_shared", told<Endpoint, Kind{.engine = 0}>},
    {"matched_told_64", told<SerialEndpoint, Kind{.size = 64}>},
    {"matched_1k", to_handler<SerialEndpoint, Kind{.size = 1024}>},
    {"matched_4k", to_handler<SerialEndpoint, Kind{.size = 4096}>},
};

}  // namespace
}  // namespace weft::budget

int main(int count, char** arguments) {
  return weft::budget::run_path(count, arguments, weft::budget::kPaths);
}
