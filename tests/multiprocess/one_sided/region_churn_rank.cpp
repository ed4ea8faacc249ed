// One rank of the tests of regions that come and go: region_churn_rank MODE.
#include "support/rank_program.hpp"

#include <dirent.h>
#include <fstream>
#include <thread>

namespace {

using namespace weft;
using test::require;

std::size_t entries(const char* directory) {
  std::size_t count = 0;
  DIR* open = ::opendir(directory);
  while (::readdir(open) != nullptr) ++count;
  ::closedir(open);
  return count;
}

/// Mappings of this process: all, or those of regions.
std::size_t mappings(bool of_regions) {
  std::ifstream file("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);)
    if (!of_regions || line.find("weft-region") != std::string::npos) ++count;
  return count;
}

std::vector<MemoryRegion> allocate(Runtime& runtime, std::size_t count, std::size_t size = 4096) {
  std::vector<MemoryRegion> regions;
  for (std::size_t index = 0; index < count; ++index)
    regions.push_back(MemoryRegion::allocate(runtime, size));
  return regions;
}

/// Of all ranks, by rank; every rank has as many.
std::vector<RemoteRegion> share(Runtime& runtime, const std::vector<MemoryRegion>& regions) {
  std::vector<RemoteRegion> mine;
  for (const MemoryRegion& region : regions) mine.push_back(region.remote());
  std::vector<RemoteRegion> all(mine.size() * static_cast<std::size_t>(runtime.size()));
  runtime.allgather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  return all;
}

/// Every rank reaches all regions of all ranks, round after round; in every second one by map().
void churn(Runtime& runtime, int rounds, std::size_t count) {
  Endpoint endpoint(runtime);
  ProgressThread progress(runtime);
  std::size_t mapped = 0;
  std::size_t descriptors = 0;
  const auto rank = static_cast<std::uint64_t>(runtime.rank());
  for (int round = 0; round < rounds; ++round) {
    const std::vector<MemoryRegion> regions = allocate(runtime, count);
    for (const RemoteRegion& key : share(runtime, regions)) {
      const std::uint64_t value = static_cast<std::uint64_t>(round) << 32 | key.index;
      const Outcome outcome = round % 2 == 0
                                  ? endpoint.put(key.rank, key.at(rank * 8), bytes_of(value))
                                  : endpoint.put(key.rank, map(runtime, key).at(rank * 8), bytes_of(value));
      require(outcome == Outcome::ok, "a put failed");
    }
    endpoint.flush();
    runtime.barrier();
    for (const MemoryRegion& region : regions)
      for (int from = 0; from < runtime.size(); ++from) {
        std::uint64_t value = 0;
        std::memcpy(&value, region.bytes().data() + from * 8, sizeof value);
        require(value == (static_cast<std::uint64_t>(round) << 32 | region.remote().index), "a wrong value");
      }
    runtime.barrier();
    // From then on every round may use again what earlier ones have used.
    if (round == rounds / 4) {
      mapped = mappings(false);
      descriptors = entries("/proc/self/fd");
    }
  }
  const std::size_t all = count * static_cast<std::size_t>(runtime.size());
  require(mappings(false) <= mapped + all / 2,
          "mappings stay: " + std::to_string(mappings(false)) + " after " + std::to_string(mapped));
  require(entries("/proc/self/fd") <= descriptors, "descriptors stay open");
}

/// Rank 1 keeps what it has mapped, and only polls while rank 0 frees it.
void poll(Runtime& runtime) {
  Endpoint endpoint(runtime);
  std::vector<MemoryRegion> regions = allocate(runtime, 50, 100'000);
  const std::vector<RemoteRegion> keys = share(runtime, regions);
  Counter told;
  const RemoteCompletion handle = runtime.expose(told, {.id = 1});
  std::vector<MappedRegion> mapped;
  if (runtime.rank() == 1) {
    for (const RemoteRegion& key : std::span(keys).first(50)) mapped.push_back(map(runtime, key));
    regions.clear();
    require(mappings(true) == 50, "not mapped");
    static_cast<void>(endpoint.send_am(0, handle, {}));
    while (mappings(true) != 0) endpoint.progress();
    const std::uint64_t value = 7;
    std::uint64_t read = 9;
    for (const MappedRegion& region : mapped) {
      require(endpoint.put(0, region.at(0), bytes_of(value)) == Outcome::refused, "a put was not refused");
      require(endpoint.get(0, region.at(0), std::as_writable_bytes(std::span(&read, 1))) == Outcome::refused,
              "a get was not refused");
      const auto fetched = endpoint.fetch_atomic<std::uint64_t>(0, region.at(0), AtomicOperation::add, 1);
      require(fetched.outcome == Outcome::refused, "an atomic operation was not refused");
      require(endpoint.put(0, RemoteAddress(region.at(0)), bytes_of(value)) == Outcome::refused,
              "a put by value was not refused");
      require(!map(runtime, region.region()).is_direct(), "mapped again");
    }
    require(read == 9, "a refused access wrote");
    static_cast<void>(endpoint.send_am(0, handle, {}));
  } else {
    endpoint.wait(told, 1);
    regions.clear();
    endpoint.wait(told, 2);
  }
  runtime.barrier();
}

/// Threads of rank 1 access what they have mapped without ever asking whether it is still there.
void race(Runtime& runtime, int rounds) {
  Endpoint endpoint(runtime);
  std::atomic<int> ended{0};
  for (int round = 0; round < rounds; ++round) {
    std::vector<MemoryRegion> regions = allocate(runtime, 4, 16384);
    const std::vector<RemoteRegion> keys = share(runtime, regions);
    if (runtime.rank() == 0) {
      runtime.barrier();
      regions.clear();
    } else {
      ended = 0;
      std::vector<std::thread> threads;
      for (int thread = 0; thread < 3; ++thread)
        threads.emplace_back([&, thread] {
          std::vector<MappedRegion> mapped;
          for (const RemoteRegion& key : std::span(keys).first(4)) mapped.push_back(map(runtime, key));
          ended.fetch_add(1);
          std::vector<std::byte> bytes(8192);
          bool is_open = true;
          while (is_open) {
            is_open = false;
            for (const MappedRegion& region : mapped) {
              const Outcome outcome =
                  thread == 0 ? endpoint.put(0, region.at(64), bytes) : endpoint.get(0, region.at(64), bytes);
              require(outcome == Outcome::ok || outcome == Outcome::refused, "another outcome");
              is_open = is_open || outcome == Outcome::ok;
            }
          }
        });
      while (ended != 3) std::this_thread::yield();
      runtime.barrier();
      for (std::thread& thread : threads) thread.join();
    }
    runtime.barrier();
  }
}

/// More regions than a process may have mappings: they are reached all the same, and so are later ones.
void crowd(Runtime& runtime, std::size_t count) {
  Endpoint endpoint(runtime);
  ProgressThread progress(runtime);
  for (int round = 0; round < 2; ++round) {
    const std::vector<MemoryRegion> regions =
        allocate(runtime, runtime.rank() == 0 && round == 0 ? 1 : count, 8);
    std::vector<RemoteRegion> keys(static_cast<std::size_t>(runtime.size()) * count);
    std::vector<RemoteRegion> mine(count, regions.front().remote());
    for (std::size_t index = 0; index < regions.size(); ++index) mine[index] = regions[index].remote();
    runtime.allgather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(keys)));
    if (runtime.rank() == 0)
      for (const RemoteRegion& key : keys)
        require(endpoint.put(key.rank, key.at(0), bytes_of(key.index)) == Outcome::ok, "a put failed");
    runtime.barrier();
    if (runtime.rank() != 0)
      for (const MemoryRegion& region : regions)
        require(std::memcmp(region.bytes().data(), &region.remote().index, 4) == 0, "a wrong value");
    runtime.barrier();
    if (round == 0) count /= 8;
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  const int number = std::stoi(test::option(count, arguments, "rounds", "80"));
  Runtime runtime;
  if (mode == "churn")
    churn(runtime, number, 100);
  else if (mode == "poll")
    poll(runtime);
  else if (mode == "race")
    race(runtime, number);
  else if (mode == "crowd")
    crowd(runtime, static_cast<std::size_t>(std::stoul(test::option(count, arguments, "regions", "1000"))));
  else
    test::fail("region_churn_rank: unknown mode \"" + mode + "\"");
}
