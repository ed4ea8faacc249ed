// Many small items for all ranks, assembled in packets.
//
// One message per item would cost a slot and a handler call each. Here each item is written straight into a
// packet for its owner; a full packet is posted as it is, and the receiver reads the items where they lie.
#include <weft/weft.hpp>

#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t kItems = 1000000;  // of each rank

/// A packet for one rank while it is being filled.
struct Buffer {
  weft::Packet packet;
  std::size_t items = 0;
  std::uint64_t total = 0;  // items posted so far
};

int owner_of(std::uint64_t item, int ranks) {
  return static_cast<int>((item * 0x9e3779b97f4a7c15 >> 32) % static_cast<std::uint64_t>(ranks));
}

void progress_or_yield(weft::SerialEndpoint& endpoint) {
  if (endpoint.progress() == 0) std::this_thread::yield();
}

void flush(weft::SerialEndpoint& endpoint, int peer, weft::RemoteCompletion target, Buffer& buffer) {
  if (buffer.items == 0) return;
  const std::size_t bytes = buffer.items * sizeof(std::uint64_t);
  // A post that answers retry leaves the packet with us; one that accepts has taken it.
  while (endpoint.post_am(peer, target, std::move(buffer.packet), bytes).is_retry())
    progress_or_yield(endpoint);
  buffer.total += buffer.items;
  buffer.items = 0;
}

}  // namespace

int main() try {
  weft::Runtime runtime;
  weft::Device device{runtime};
  weft::SerialEndpoint endpoint{device};

  struct Totals {
    std::uint64_t items = 0, sum = 0;
  } mine;
  std::uint64_t packets = 0;
  weft::Handler receiver{[&](weft::Message& message) {
    const std::span items{reinterpret_cast<const std::uint64_t*>(message.data()),
                          message.size() / sizeof(std::uint64_t)};
    for (const std::uint64_t item : items) mine.sum += item;
    mine.items += items.size();
    ++packets;
  }};
  // Messages may overtake each other, so "that was all" must be a number and not a last message.
  std::uint64_t promised = 0;
  int promises = 0;
  weft::Handler promise{[&](weft::Message& message) {
    promised += message.as<std::uint64_t>();
    ++promises;
  }};
  const weft::RemoteCompletion items = runtime.expose(receiver, {.id = 1});
  const weft::RemoteCompletion totals = runtime.expose(promise, {.id = 2});

  std::vector<Buffer> buffers(static_cast<std::size_t>(runtime.size()));
  for (std::uint64_t number = 0; number < kItems; ++number) {
    const std::uint64_t item = static_cast<std::uint64_t>(runtime.rank()) * kItems + number;
    const int owner = owner_of(item, runtime.size());
    Buffer& buffer = buffers[static_cast<std::size_t>(owner)];
    while (!buffer.packet && !(buffer.packet = device.get_packet()))
      progress_or_yield(endpoint);  // all in use
    reinterpret_cast<std::uint64_t*>(buffer.packet.data())[buffer.items++] = item;
    if ((buffer.items + 1) * sizeof(std::uint64_t) > buffer.packet.capacity())
      flush(endpoint, owner, items, buffer);
  }
  for (int peer = 0; peer < runtime.size(); ++peer) {
    Buffer& buffer = buffers[static_cast<std::size_t>(peer)];
    flush(endpoint, peer, items, buffer);
    if (endpoint.send_am(peer, totals, weft::bytes_of(buffer.total)) != weft::Outcome::ok) return 1;
  }
  endpoint.wait_until([&] { return promises == runtime.size() && mine.items == promised; });
  std::printf("rank %d: %llu items in %llu packets\n", runtime.rank(),
              static_cast<unsigned long long>(mine.items), static_cast<unsigned long long>(packets));

  std::vector<Totals> all(static_cast<std::size_t>(runtime.size()));
  runtime.allgather(weft::bytes_of(mine), std::as_writable_bytes(std::span{all}));
  Totals together;
  for (const Totals& one : all) together = {together.items + one.items, together.sum + one.sum};
  const std::uint64_t expected = static_cast<std::uint64_t>(runtime.size()) * kItems;
  const bool right = together.items == expected && together.sum == expected * (expected - 1) / 2;
  if (runtime.rank() == 0)
    std::printf("%llu of %llu items, the sum is %s\n", static_cast<unsigned long long>(together.items),
                static_cast<unsigned long long>(expected), right ? "right" : "wrong");
  return right ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
