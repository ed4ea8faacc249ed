#include "perf/limits/ring_limit.hpp"

#include <fmt/core.h>

#include <new>

#include "perf/limits/limits.hpp"
#include "perf/measure/arrival_rate.hpp"
#include "perf/measure/forked_ranks.hpp"
#include "perf/measure/payload_content.hpp"
#include "perf/measure/task.hpp"

namespace weft::tools::perf {
namespace {

void send_all(Ring& ring, const Task& task) {
  RingSender sender{ring};
  if (task.verify) {
    std::byte payload[Ring::kPayload] = {};
    send_for(task, [&](std::uint64_t number) {
      fill(payload, task.size, number);
      sender.send(payload, task.size);
    });
  } else if (task.size == 8) {
    send_for(task, [&](std::uint64_t number) {
      std::byte payload[8];
      std::memcpy(payload, &number, 8);
      sender.send(payload, 8);
    });
  } else {
    const std::byte payload[Ring::kPayload] = {};
    send_for(task, [&](std::uint64_t) { sender.send(payload, task.size); });
  }
  sender.finish();
}

std::uint64_t total_of(const Ring& ring) {
  // Pairs with the release in RingSender::finish.
  const std::uint64_t total = ring.total.load(std::memory_order_acquire);
  return total == 0 ? kUnknownTotal : total - 1;
}

void receive_measured(Ring& ring, const Task& task) {
  RingReceiver receiver{ring};
  std::uint64_t sum = 0;
  const auto consume = [&sum](std::uint64_t, const std::byte* payload) {
    std::uint64_t value;
    std::memcpy(&value, payload, sizeof value);
    sum += value;
  };
  const ArrivalRate rate = measure_arrivals(
      task, [&] { receiver.receive(consume); }, [&] { return receiver.received(); },
      [&] { return total_of(ring); });
  volatile std::uint64_t keep = sum;  // keeps the reads of the payloads
  (void)keep;
  print({.role = "receiver",
         .value = rate.per_second,
         .core_share = rate.core_share,
         .messages = receiver.received()});
}

void receive_verified(Ring& ring, const Task& task) {
  RingReceiver receiver{ring};
  Ledger ledger;
  const auto consume = [&](std::uint64_t header, const std::byte* payload) {
    ledger.add(header - 1, payload, task.size, task.size);
  };
  while (receiver.received() < total_of(ring)) receiver.receive(consume);
  receiver.receive(consume);
  const std::uint64_t sent = total_of(ring);
  print({.role = "receiver",
         .messages = sent,
         .lost = ledger.lost(sent),
         .duplicated = ledger.duplicated(),
         .torn = ledger.torn()});
}

}  // namespace

int run_ring(const Task& task) {
  const SharedMemory memory(sizeof(Ring));
  Ring& ring = *new (memory.data()) Ring{};
  const bool well = run_pair(
      task, [&] { send_all(ring, task); },
      [&] { task.verify ? receive_verified(ring, task) : receive_measured(ring, task); });
  return well ? 0 : 1;
}

}  // namespace weft::tools::perf
