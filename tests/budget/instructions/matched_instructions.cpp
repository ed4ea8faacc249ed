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

enum class Receives { before, after };  // the messages have arrived

template <class EndpointType>
[[gnu::always_inline]] inline void post_burst(Pair<EndpointType>& ranks, std::uint16_t engine,
                                              std::uint64_t tags, std::size_t size, std::byte* buffers,
                                              Completion& arrived) {
  for (std::uint64_t i = 0; i < kBurst; ++i)
    while (ranks.receiver
               .post_receive(0, i % tags, std::span(buffers + i * size, size),
                             {.completion = &arrived, .engine = engine})
               .is_retry())
      ranks.receiver.progress();
}

/// `tags`: how many different ones the messages of a burst have. `done(receives)` sees that the burst is
/// complete.
template <class EndpointType, Receives kPosted = Receives::before, class Done, class Sent = std::nullptr_t>
void exchange(std::uint64_t messages, std::uint16_t engine, std::uint64_t tags, std::size_t size,
              Completion& arrived, const Done& done, Sent sent = nullptr) {
  Pair<EndpointType> ranks;
  std::unique_ptr<MatchingEngine> engines[2];
  if (engine != 0) {
    const MatchingEngineOptions options{
        .id = engine,
        .order = engine < kMatchingEngines ? MatchOrder::unordered : MatchOrder::ordered,
        .serial = std::is_same_v<EndpointType, SerialEndpoint>};
    engines[0] = std::make_unique<MatchingEngine>(ranks.sending, options);
    engines[1] = std::make_unique<MatchingEngine>(ranks.receiving, options);
  }
  const std::vector<std::byte> payload(size);
  std::vector<std::byte> buffers(kBurst * size);
  for (std::uint64_t next = 0; next < messages; next += kBurst) {
    if (kPosted == Receives::before) post_burst(ranks, engine, tags, size, buffers.data(), arrived);
    for (std::uint64_t i = 0; i < kBurst; ++i)
      while (
          ranks.sender.post_send(1, i % tags, payload, {.completion = sent, .engine = engine}).is_retry()) {
        ranks.receiver.progress();
        ranks.sender.progress();
      }
    if (kPosted == Receives::after) {
      ranks.receiver.progress();
      post_burst(ranks, engine, tags, size, buffers.data(), arrived);
    }
    while (!done(kBurst)) ranks.receiver.progress();
    ranks.sender.progress();
  }
}

/// Counts without atomic operations.
template <class EndpointType, std::uint16_t kEngine, std::uint64_t kTags, std::size_t kSize = 8,
          Receives kPosted = Receives::before>
void to_handler(std::uint64_t messages) {
  std::uint64_t count = 0;
  Handler handler([&](Message&) noexcept { ++count; });
  exchange<EndpointType, kPosted>(messages, kEngine, kTags, kSize, handler, [&](std::uint64_t burst) {
    if (count < burst) return false;
    count -= burst;
    return true;
  });
}

template <class EndpointType, std::uint16_t kEngine, Receives kPosted = Receives::before>
void to_counter(std::uint64_t messages) {
  Counter counter;
  std::uint64_t before = 0;
  exchange<EndpointType, kPosted>(messages, kEngine, 1, 8, counter, [&](std::uint64_t burst) {
    if (counter.value() - before < burst) return false;
    before += burst;
    return true;
  });
}

/// The ends of sends are told as well.
template <class EndpointType, std::uint16_t kEngine, std::size_t kSize>
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
  exchange<EndpointType>(messages, kEngine, 1, kSize, on_receive, done, &on_send);
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
  exchange<SerialEndpoint>(messages, kSerialEngine, 1, 8, synchronizer, [&](std::uint64_t) {
    if (!synchronizer.test()) return false;
    synchronizer.reset();
    return true;
  });
}

template <class Queue>
void to_queue(std::uint64_t messages) {
  Queue queue;
  std::uint64_t count = 0;
  exchange<SerialEndpoint>(messages, kSerialEngine, 1, 8, queue, [&](std::uint64_t burst) {
    Message message;
    while (queue.pop(message)) ++count;
    if (count < burst) return false;
    count -= burst;
    return true;
  });
}

constexpr Path kPaths[] = {
    {"matched", to_handler<SerialEndpoint, kSerialEngine, 1>},
    {"matched_tags", to_handler<SerialEndpoint, kSerialEngine, kBurst>},
    {"matched_shared", to_handler<Endpoint, 0, 1>},
    {"matched_counter", to_counter<SerialEndpoint, kSerialEngine>},
    {"matched_counter_shared", to_counter<Endpoint, 0>},
    {"matched_unexpected_counter_shared", to_counter<Endpoint, 0, Receives::after>},
    {"matched_ordered", to_handler<SerialEndpoint, kOrderedEngine, 1>},
    {"matched_ordered_tags", to_handler<SerialEndpoint, kOrderedEngine, kBurst>},
    {"matched_ordered_shared", to_handler<Endpoint, kOrderedEngine, 1>},
    {"matched_ordered_counter", to_counter<SerialEndpoint, kOrderedEngine>},
    {"matched_ordered_counter_shared", to_counter<Endpoint, kOrderedEngine>},
    {"matched_ordered_unexpected_counter_shared", to_counter<Endpoint, kOrderedEngine, Receives::after>},
    {"prepared_matched", prepared},
    {"matched_synchronizer", to_synchronizer},
    {"matched_serial_queue", to_queue<SerialCompletionQueue>},
    {"matched_queue", to_queue<CompletionQueue>},
    {"matched_unexpected", to_handler<SerialEndpoint, kSerialEngine, 1, 8, Receives::after>},
    {"matched_unexpected_shared", to_handler<Endpoint, 0, 1, 8, Receives::after>},
    {"matched_unexpected_64", to_handler<SerialEndpoint, kSerialEngine, 1, 64, Receives::after>},
    {"matched_unexpected_64_shared", to_handler<Endpoint, 0, 1, 64, Receives::after>},
    {"matched_64", to_handler<SerialEndpoint, kSerialEngine, 1, 64>},
    {"matched_64_shared", to_handler<Endpoint, 0, 1, 64>},
    {"matched_told", told<SerialEndpoint, kSerialEngine, 8>},
    {"matched_told_shared", told<Endpoint, 0, 8>},
    {"matched_told_64", told<SerialEndpoint, kSerialEngine, 64>},
    {"matched_1k", to_handler<SerialEndpoint, kSerialEngine, 1, 1024>},
    {"matched_4k", to_handler<SerialEndpoint, kSerialEngine, 1, 4096>},
};

}  // namespace
}  // namespace weft::budget

int main(int count, char** arguments) {
  return weft::budget::run_path(count, arguments, weft::budget::kPaths);
}
