// Two ranks with traffic that tests know in advance: rank 0 sends, rank 1 receives. What they say about it is
// compared with the numbers below, which tests/multiprocess/diagnosis/traffic.py repeats.
#include <weft/weft.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace {

constexpr std::uint64_t kShort = 100;   // active messages of 8 bytes
constexpr std::uint64_t kPackets = 10;  // of 3000
constexpr std::uint64_t kLarge = 2;     // of 300000
constexpr std::uint64_t kMatched = 20;  // sends of 8 bytes
constexpr std::uint64_t kPutBytes = 1000;

void post(weft::Endpoint& endpoint, const weft::RemoteCompletion& remote, std::size_t size) {
  const std::vector<std::byte> bytes(size);
  static_cast<void>(endpoint.send_am(1, remote, bytes));
}

void run() {
  weft::Runtime runtime;
  weft::Endpoint endpoint{runtime};
  weft::Counter arrived;
  const weft::RemoteCompletion remote = runtime.expose(arrived, {.id = 1});
  weft::MemoryRegion region = weft::MemoryRegion::allocate(runtime, 4096);
  const weft::RemoteRegion mine = region.remote();
  std::vector<weft::RemoteRegion> regions(static_cast<std::size_t>(runtime.size()));
  runtime.allgather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(regions)));
  if (runtime.rank() == 0) {
    for (std::uint64_t number = 0; number < kShort; ++number) post(endpoint, remote, 8);
    for (std::uint64_t number = 0; number < kPackets; ++number) post(endpoint, remote, 3000);
    for (std::uint64_t number = 0; number < kLarge; ++number) post(endpoint, remote, 300'000);
    for (std::uint64_t number = 0; number < kMatched; ++number)
      static_cast<void>(endpoint.send(1, number, weft::bytes_of(number)));
    const std::vector<std::byte> bytes(kPutBytes);
    if (endpoint.put(1, regions[1].at(0), bytes) != weft::Outcome::ok) throw weft::Error("the put failed");
  } else {
    endpoint.wait(arrived, kShort + kPackets + kLarge);
    for (std::uint64_t number = 0; number < kMatched; ++number) {
      std::uint64_t value = 0;
      static_cast<void>(endpoint.receive(0, number, std::as_writable_bytes(std::span(&value, 1))));
      if (value != number) throw weft::Error("a wrong value");
    }
  }
  runtime.barrier();
}

}  // namespace

int main() try {
  run();
  return EXIT_SUCCESS;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "traffic_rank: %s\n", error.what());
  return 2;
}
