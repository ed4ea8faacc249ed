// Work is taken from one counter that all ranks share: every item by exactly one of them.
#include <weft/weft.hpp>

#include <cstdio>
#include <vector>

int main() try {
  constexpr std::uint64_t kItems = 10'000;
  weft::Runtime runtime;
  weft::Endpoint endpoint{runtime};
  // Some networks bring atomic operations as messages: rank 0's progress thread answers while rank 0 works.
  weft::ProgressThread progress{runtime};

  // The next ticket, and the sum of all items that were worked on: both in memory of rank 0.
  constexpr std::uint64_t kNext = 0;
  constexpr std::uint64_t kSum = 8;
  const weft::MemoryRegion mine = weft::MemoryRegion::allocate(runtime, 16);
  std::vector<weft::RemoteRegion> keys(static_cast<std::size_t>(runtime.size()));
  runtime.allgather(weft::bytes_of(mine.remote()), std::as_writable_bytes(std::span{keys}));
  const weft::MappedRegion shared = weft::map(runtime, keys[0]);

  for (;;) {
    // Where the region is mapped this is an instruction, else a message and its answer.
    const auto next =
        endpoint.fetch_atomic<std::uint64_t>(0, shared.at(kNext), weft::AtomicOperation::add, 1);
    if (!next) return 1;
    const std::uint64_t item = next.value;
    if (item >= kItems) break;
    while (
        endpoint.post_atomic<std::uint64_t>(0, shared.at(kSum), weft::AtomicOperation::add, item).is_retry())
      endpoint.progress();
  }
  endpoint.flush();   // what this rank has added is there,
  runtime.barrier();  // and so is what all others have

  const auto sum = endpoint.fetch_atomic<std::uint64_t>(0, shared.at(kSum), weft::AtomicOperation::add, 0);
  if (!sum) return 1;
  const bool is_right = sum.value == kItems * (kItems - 1) / 2;
  std::printf("rank %d: the sum is %s\n", runtime.rank(), is_right ? "right" : "wrong");
  runtime.barrier();  // rank 0's memory stays until all have read it
  return is_right ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
