// Active messages: to handlers, and to queues that the receiver empties.
#include "instructions.hpp"

#include <vector>

namespace weft::budget {
namespace {

template <class EndpointType, class Drain>
void exchange(std::uint64_t messages, std::size_t size, Completion& target, const Drain& drain) {
  Pair<EndpointType> ranks;
  const RemoteCompletion remote = ranks.receiving.expose(target, {.id = 1});
  const std::vector<std::byte> payload(size);
  while (!ranks.sender.post_am(1, remote, {}).is_accepted()) {
  }
  std::uint64_t next = 0;
  while (next < messages) {
    for (std::uint64_t count = 0; count < kBurst; ++count) {
      const bool accepted = size == sizeof next ? ranks.sender.post_am(1, remote, bytes_of(next)).is_done()
                                                : ranks.sender.post_am(1, remote, payload).is_accepted();
      if (!accepted) break;
      ++next;
    }
    ranks.receiver.progress();
    drain();
    if (size != sizeof next) ranks.sender.progress();
  }
  target.withdraw();
}

/// As exchange() with 8 bytes to a handler.
void prepared(std::uint64_t messages) {
  Pair<SerialEndpoint> ranks;
  std::uint64_t sum = 0;
  Handler handler([&](Message& message) {
    if (message.size() == sizeof sum) sum += message.as<std::uint64_t>();
  });
  const RemoteCompletion remote = ranks.receiving.expose(handler, {.id = 1});
  std::uint64_t next = 0;
  auto operation = ranks.sender.prepare_am(1, remote, bytes_of(next));
  while (next < messages) {
    for (std::uint64_t count = 0; count < kBurst && operation.start().is_done(); ++count) ++next;
    ranks.receiver.progress();
  }
  handler.withdraw();
}

template <class Queue>
void to_queue(std::uint64_t messages) {
  Queue queue;
  std::uint64_t sum = 0;
  exchange<SerialEndpoint>(messages, sizeof sum, queue, [&] {
    Message message;
    while (queue.pop(message))
      if (message.size() == sizeof sum) sum += message.as<std::uint64_t>();
  });
}

template <class EndpointType, std::size_t kSize = 8>
void to_handler(std::uint64_t messages) {
  std::uint64_t sum = 0;
  Handler handler([&](Message& message) {
    if (message.size() == sizeof sum) sum += message.as<std::uint64_t>();
  });
  exchange<EndpointType>(messages, kSize, handler, [] {});
}

/// The ends of the posts are counted, too.
void told(std::uint64_t messages) {
  Pair<SerialEndpoint> ranks;
  std::uint64_t arrived = 0;
  Handler handler([&](Message&) { ++arrived; });
  const RemoteCompletion remote = ranks.receiving.expose(handler, {.id = 1});
  Counter sent;
  std::uint64_t next = 0;
  while (next < messages) {
    for (std::uint64_t count = 0; count < kBurst; ++count)
      next += ranks.sender.post_am(1, remote, bytes_of(next), {.completion = &sent}).is_posted() ? 1 : 0;
    ranks.receiver.progress();
  }
  handler.withdraw();
  if (sent.value() != next) std::abort();
}

/// A round of the synchronizer for a burst.
void to_synchronizer(std::uint64_t messages) {
  Synchronizer synchronizer(kBurst);
  exchange<SerialEndpoint>(messages, sizeof messages, synchronizer, [&] {
    if (synchronizer.test()) synchronizer.reset();
  });
}

constexpr Path kPaths[] = {
    {"prepared_am", prepared},
    {"handler", to_handler<SerialEndpoint>},
    {"shared_endpoint", to_handler<Endpoint>},
    {"handler_told", told},
    {"serial_queue", to_queue<SerialCompletionQueue>},
    {"single_consumer_queue", to_queue<SingleConsumerQueue>},
    {"completion_queue", to_queue<CompletionQueue>},
    {"synchronizer", to_synchronizer},
    {"handler_64", to_handler<SerialEndpoint, 64>},
    {"handler_64_shared", to_handler<Endpoint, 64>},
    {"handler_1k", to_handler<SerialEndpoint, 1024>},
    {"handler_4k", to_handler<SerialEndpoint, 4096>},
};

}  // namespace
}  // namespace weft::budget

int main(int count, char** arguments) {
  return weft::budget::run_path(count, arguments, weft::budget::kPaths);
}
