// One rank of the tests of puts and gets between processes: one_sided_rank MODE.
#include "support/rank_program.hpp"

#include <dirent.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <thread>

namespace {

using namespace weft;
using test::matches;
using test::payload;
using test::require;

constexpr std::size_t kBlock = 300'000;

std::vector<RemoteRegion> share(Runtime& runtime, const MemoryRegion& region) {
  std::vector<RemoteRegion> keys(static_cast<std::size_t>(runtime.size()));
  runtime.allgather(bytes_of(region.remote()), std::as_writable_bytes(std::span(keys)));
  return keys;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* directory = ::opendir("/proc/self/fd");
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

/// Every rank puts a block into every rank, with a signal, and gets it back.
void exchange(Runtime& runtime, bool allocated, bool mapped) {
  Endpoint endpoint(runtime);
  const auto ranks = static_cast<std::size_t>(runtime.size());
  const auto rank = static_cast<std::size_t>(runtime.rank());
  std::vector<std::byte> memory(allocated ? 0 : ranks * kBlock);
  const MemoryRegion region =
      allocated ? MemoryRegion::allocate(runtime, ranks * kBlock) : MemoryRegion(runtime, memory);
  const std::vector<RemoteRegion> keys = share(runtime, region);
  std::vector<std::size_t> sizes = test::border_sizes(runtime);
  sizes.push_back(kBlock);
  std::size_t size = 0;
  std::size_t arrived = 0;
  Handler handler([&](Message& message) {
    const auto from = static_cast<std::size_t>(message.peer());
    require(message.operation() == Operation::put_arrived && message.tag() == size % 1000, "wrong signal");
    require(matches(region.bytes().subspan(from * kBlock, size), size + from), "signalled before the bytes");
    ++arrived;
  });
  const RemoteCompletion signal = runtime.expose(handler, {.id = 1});
  std::vector<MappedRegion> regions;
  for (const RemoteRegion& key : keys)
    regions.push_back(mapped ? map(runtime, key) : MappedRegion(key, nullptr));
  for (const std::size_t next : sizes) {
    size = next;
    arrived = 0;
    runtime.barrier();
    const auto source = payload(size, size + rank);
    Counter ended;
    for (int peer = 0; peer < runtime.size(); ++peer)
      while (endpoint
                 .post_put(
                     peer, regions[static_cast<std::size_t>(peer)].at(rank * kBlock), source,
                     {.completion = &ended, .signal = signal, .tag = static_cast<std::uint32_t>(size % 1000)})
                 .is_retry())
        endpoint.progress();
    endpoint.wait_until([&] { return arrived == ranks && ended.value() == ranks; });
    std::vector<std::byte> back(size);
    Counter got;
    for (int peer = 0; peer < runtime.size(); ++peer) {
      std::fill(back.begin(), back.end(), std::byte{});
      const auto before = got.value();
      while (endpoint
                 .post_get(peer, regions[static_cast<std::size_t>(peer)].at(rank * kBlock), back,
                           {.completion = &got})
                 .is_retry())
        endpoint.progress();
      endpoint.wait_until([&] { return got.value() == before + 1; });
      require(back == source, "a get differs");
    }
    // Others still get from this rank, perhaps by messages.
    Counter finished;
    const RemoteCompletion everywhere = runtime.expose(finished, {.id = 2});
    for (int peer = 0; peer < runtime.size(); ++peer)
      static_cast<void>(endpoint.send_am(peer, everywhere, {}));
    endpoint.wait(finished, ranks);
    runtime.barrier();
  }
  std::printf("exchanged %zu sizes\n", sizes.size());
}

/// Keys that name nothing reach nothing, and what is released stays released.
void forge(Runtime& runtime) {
  constexpr std::size_t kForged = 50'000;
  Endpoint endpoint(runtime);
  std::vector<std::byte> memory = payload(kForged, 1);
  MemoryRegion registered(runtime, memory);
  MemoryRegion allocated = MemoryRegion::allocate(runtime, kForged);
  test::fill(allocated.bytes(), 1);
  std::vector<RemoteRegion> keys = share(runtime, registered);
  const std::vector<RemoteRegion> more = share(runtime, allocated);
  keys.insert(keys.end(), more.begin(), more.end());
  ProgressThread progress(runtime);
  std::vector<std::byte> bytes(10'000, std::byte{0x77});
  int refused = 0;
  for (const RemoteRegion& key : keys)
    for (int lie = 0; lie < 5; ++lie) {
      RemoteRegion forged = key;
      if (lie == 0) forged.generation += 1;
      if (lie == 1) forged.index += 2;
      if (lie == 2) forged.index = ~0U;
      if (lie >= 3) forged.bytes = ~std::uint64_t{0};
      const std::uint64_t offset = lie == 3 ? kForged - 50 : lie == 4 ? ~std::uint64_t{0} - 10 : 0;
      for (const MappedRegion& way : {map(runtime, forged), MappedRegion(forged, nullptr)}) {
        if (endpoint.put(key.rank, way.at(offset), bytes) == Outcome::refused) ++refused;
        if (endpoint.get(key.rank, way.at(offset), bytes) == Outcome::refused) ++refused;
      }
    }
  require(refused == static_cast<int>(keys.size()) * 20, "a forged key was accepted");
  runtime.barrier();
  require(matches(memory, 1) && matches(allocated.bytes(), 1), "memory changed");
  std::vector<MappedRegion> mapped;
  for (const RemoteRegion& key : keys) mapped.push_back(map(runtime, key));
  runtime.barrier();
  registered = MemoryRegion();
  allocated = MemoryRegion();
  runtime.barrier();
  for (const MappedRegion& region : mapped)
    require(endpoint.put(region.region().rank, region.at(0), bytes) == Outcome::refused, "not released");
  runtime.barrier();
  require(matches(memory, 1), "memory changed after its release");
}

/// Regions come and go: nothing stays behind.
void leak(Runtime& runtime) {
  Endpoint endpoint(runtime);
  ProgressThread progress(runtime);
  std::size_t before = 0;
  for (int round = 0; round < 200; ++round) {
    if (round == 20) before = open_descriptors();
    const MemoryRegion region = MemoryRegion::allocate(runtime, 100'000);
    for (const RemoteRegion& key : share(runtime, region)) {
      const MappedRegion mapped = map(runtime, key);
      require(mapped.is_direct() == (std::string_view(runtime.attribute("one_sided")) != "message" &&
                                     std::string_view(runtime.network()) == "shm"),
              "mapped when it should not, or the other way round");
      require(endpoint.put(key.rank, mapped.at(static_cast<std::uint64_t>(runtime.rank()) * 100),
                           payload(100, 1)) == Outcome::ok,
              "a put failed");
    }
    runtime.barrier();
  }
  require(open_descriptors() <= before, "descriptors stay open");
}

/// Every rank puts a block into every rank and gets it back; tells how many of these went by messages.
void tell_ways(Runtime& runtime) {
  Endpoint endpoint(runtime);
  ProgressThread progress(runtime);
  const MemoryRegion region =
      MemoryRegion::allocate(runtime, static_cast<std::size_t>(runtime.size()) * kBlock);
  const auto source = payload(kBlock, static_cast<std::uint64_t>(runtime.rank()));
  for (const RemoteRegion& key : share(runtime, region)) {
    const MappedRegion unmapped(key, nullptr);
    const auto place = unmapped.at(static_cast<std::uint64_t>(runtime.rank()) * kBlock);
    std::vector<std::byte> back(kBlock);
    require(endpoint.put(key.rank, place, source) == Outcome::ok, "a put failed");
    require(endpoint.get(key.rank, place, back) == Outcome::ok && back == source, "a get failed");
  }
  runtime.barrier();
  std::printf("%d accesses by messages\n", static_cast<int>(runtime.counters().accesses_by_messages));
}

/// Rank 1 leaves while the others put into it.
void leave(Runtime& runtime, bool is_allocated) {
  std::vector<std::byte> memory(kBlock);
  const MemoryRegion region =
      is_allocated ? MemoryRegion::allocate(runtime, kBlock) : MemoryRegion(runtime, memory);
  const RemoteRegion key = share(runtime, region)[1];
  runtime.barrier();
  if (runtime.rank() == 1) return;
  Endpoint endpoint(runtime);
  const auto source = payload(kBlock, 1);
  Outcome outcome = Outcome::ok;
  while (outcome == Outcome::ok || outcome == Outcome::refused) outcome = endpoint.put(1, key.at(0), source);
  require(outcome == Outcome::peer_failed, "another outcome");
  endpoint.flush();
  std::printf("noticed\n");
}

/// Rank 1 dies while rank 0 gets from it, and from rank 2, which computes for so long: it has not failed.
/// Rank 0 has got from both before: what it posts then is under way, and what comes back finds no connection.
/// So does a put with a signal, which rank 2 may find twice: it is told once.
void compute(Runtime& runtime, int seconds) {
  constexpr std::size_t kSize = 4 << 20;
  const MemoryRegion region = MemoryRegion::allocate(runtime, kSize);
  test::fill(region.bytes(), static_cast<std::uint64_t>(runtime.rank()));
  const std::vector<RemoteRegion> keys = share(runtime, region);
  Endpoint endpoint(runtime);
  Counter finished;
  const RemoteCompletion over = runtime.expose(finished, {.id = 1});
  Counter told;
  const RemoteCompletion signal = runtime.expose(told, {.id = 2});
  std::array<std::vector<std::byte>, 3> bytes;
  {
    ProgressThread progress(runtime);
    for (const std::size_t peer : {1U, 2U}) {
      bytes[peer].resize(kSize);
      if (runtime.rank() == 0)
        require(endpoint.get(static_cast<int>(peer), MappedRegion(keys[peer], nullptr).at(0), bytes[peer]) ==
                    Outcome::ok,
                "a get failed");
    }
    runtime.barrier();
  }
  if (runtime.rank() == 1) {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    ::raise(SIGKILL);
  }
  if (runtime.rank() == 2) {
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    endpoint.wait(finished, 1);
    for (int more = 0; more < 1000; ++more) endpoint.progress();
    require(told.value() == 1, "the signal of a put was told " + std::to_string(told.value()) + " times");
    return;
  }
  std::array<Outcome, 3> outcomes{};
  int ended = 0;
  Handler handler([&](Message& message) {
    outcomes[static_cast<std::size_t>(message.peer())] = message.outcome();
    ++ended;
  });
  // By then the others have sent what they had accepted: nothing drives their devices any more.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  Counter put;
  const auto source = payload(40'000, 2);  // all of which the connection takes at once
  while (
      endpoint
          .post_put(2, MappedRegion(keys[2], nullptr).at(0), source, {.completion = &put, .signal = signal})
          .is_retry())
    endpoint.progress();
  for (const std::size_t peer : {1U, 2U})
    while (endpoint
               .post_get(static_cast<int>(peer), MappedRegion(keys[peer], nullptr).at(0), bytes[peer],
                         {.completion = &handler})
               .is_retry())
      endpoint.progress();
  endpoint.wait_until([&] { return ended == 2 && put.value() == 1; });
  require(outcomes[1] == Outcome::peer_failed, "the get from the dead ended as something else");
  require(outcomes[2] == Outcome::ok && matches(bytes[2], 2), "the get from the living failed");
  static_cast<void>(endpoint.send_am(2, over, {}));
  std::printf("both have ended\n");
}

/// Rank 1, which messages have reached, computes for so long while rank 0 begins to put into it. What goes by
/// messages then is the network's again afterwards.
void late(Runtime& runtime, int seconds) {
  const MemoryRegion region = MemoryRegion::allocate(runtime, kBlock);
  const RemoteRegion key = share(runtime, region)[1];
  Endpoint endpoint(runtime);
  const auto source = payload(kBlock, 1);
  const auto put = [&](std::size_t size) {
    const std::uint64_t before = runtime.counters().accesses_by_messages;
    require(endpoint.put(1, MappedRegion(key, nullptr).at(0), std::span(source).first(size)) == Outcome::ok,
            "a put failed");
    return runtime.counters().accesses_by_messages != before;
  };
  {
    ProgressThread progress(runtime);
    static_cast<void>(put(8));
    runtime.barrier();
  }
  // When rank 0 begins, rank 1 has sent what it had accepted: nothing drives its device any more.
  std::this_thread::sleep_for(std::chrono::seconds(runtime.rank() == 1 ? seconds : 1));
  ProgressThread progress(runtime);
  int by_messages = 0;
  if (runtime.rank() == 0)
    while (put(kBlock)) ++by_messages;
  runtime.barrier();
  if (runtime.rank() == 0)
    std::printf("%s\n", by_messages == 0 ? "by the network" : "by messages, then by the network");
  else
    require(matches(region.bytes(), 1), "the bytes of a put are missing");
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  const std::vector<AttributeSetting> silent = {{"log", "error"}, {"drain_timeout", "1"}};
  Runtime runtime({.attributes = silent});
  if (mode == "exchange")
    exchange(runtime, test::option(count, arguments, "memory", "allocated") == "allocated",
             test::option(count, arguments, "by", "map") == "map");
  else if (mode == "forge")
    forge(runtime);
  else if (mode == "leak")
    leak(runtime);
  else if (mode == "ways")
    tell_ways(runtime);
  else if (mode == "leave")
    leave(runtime, test::option(count, arguments, "memory", "registered") == "allocated");
  else if (mode == "compute")
    compute(runtime, std::stoi(test::option(count, arguments, "seconds", "16")));
  else if (mode == "late")
    late(runtime, std::stoi(test::option(count, arguments, "seconds", "13")));
  else
    test::fail("one_sided_rank: unknown mode \"" + mode + "\"");
}
