#include "study/ranks/two_copy_ring.hpp"

#include <weft/error.hpp>
#include <weft/topology.hpp>

#include <fmt/core.h>

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "study/ranks/workload.hpp"

namespace weft::tools::study {

namespace {

// Few enough to stay in the second-level cache.
constexpr std::size_t kSlots = 8;
// Then the other thread may need this one's processor.
constexpr int kSpins = 1 << 14;

struct Ring {
  explicit Ring(std::size_t size) : bytes(size), slots(kSlots * size / sizeof(std::uint64_t)) {}
  [[nodiscard]] void* slot(std::uint64_t number) {
    return reinterpret_cast<std::byte*>(slots.data()) + number % kSlots * bytes;
  }

  const std::size_t bytes;
  std::vector<std::uint64_t> slots;
  alignas(128) std::atomic<std::uint64_t> written{0};
  alignas(128) std::atomic<std::uint64_t> read{0};
};

template <class Condition>
void wait_for(const Condition& condition) {
  for (int spins = 0; !condition(); ++spins)
    if (spins % kSpins == kSpins - 1) sched_yield();
}

void bind_to_core(const Topology& topology, std::size_t number) {
  if (number < topology.cores.size()) bind_thread(topology.cores[number].processors);
}

/// Messages per second.
double rate_of(std::size_t bytes, std::uint64_t messages) {
  Ring ring(bytes);
  std::uint64_t sum = 0;
  const Topology topology = read_topology();  // takes longer than many arrays
  std::atomic<bool> is_ready{false};
  std::thread reader([&] {
    bind_to_core(topology, 1);
    std::vector<std::uint64_t> to(bytes / sizeof(std::uint64_t));
    is_ready.store(true, std::memory_order_release);
    for (std::uint64_t number = 0; number < messages; ++number) {
      wait_for(
          [&] { return ring.written.load(std::memory_order_acquire) > number; });  // the writer's release
      std::memcpy(to.data(), ring.slot(number), bytes);
      ring.read.store(number + 1, std::memory_order_release);
      sum += to.front();
    }
  });
  double elapsed = 0;
  std::thread writer([&] {
    bind_to_core(topology, 0);
    std::vector<std::uint64_t> from(bytes / sizeof(std::uint64_t));
    wait_for([&] { return is_ready.load(std::memory_order_acquire); });  // the reader's release
    const std::int64_t begin = now_ns();
    for (std::uint64_t number = 0; number < messages; ++number) {
      from.front() = number;
      wait_for([&] { return ring.read.load(std::memory_order_acquire) + kSlots > number; });  // the reader's
      std::memcpy(ring.slot(number), from.data(), bytes);
      ring.written.store(number + 1, std::memory_order_release);
    }
    wait_for([&] { return ring.read.load(std::memory_order_acquire) == messages; });
    elapsed = static_cast<double>(now_ns() - begin) * 1e-9;
  });
  writer.join();
  reader.join();
  if (sum != messages * (messages - 1) / 2)
    throw Error("the numbers that have come are not those that were sent");
  return static_cast<double>(messages) / elapsed;
}

}  // namespace

int two_copy_ring_main(const Json& job) {
  for (const Json& parameters : job.at("cases")) {
    Json figures = Json::object();
    const std::size_t bytes = parameters.value("bytes", std::size_t{0});
    if (parameters.value("workload", "") == "stream" && parameters.value("injection", 1.0) == 0 &&
        bytes >= 1024) {
      const auto messages = parameters.at("messages").get<std::uint64_t>();
      rate_of(bytes, messages / 10 + 1);  // warms up
      const double rate = rate_of(bytes, messages);
      figures["messages_per_s"] = rate;
      figures["bytes_per_s"] = rate * static_cast<double>(bytes);
      figures["injected_per_s"] = rate;
    }
    if (figures.empty()) figures["why"] = "copies arrays as fast as it can, and does nothing else";
    fmt::print("{}\n", figures.dump());
  }
  std::fflush(stdout);
  return 0;
}

}  // namespace weft::tools::study
