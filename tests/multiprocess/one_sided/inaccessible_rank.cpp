// One rank of the test of regions whose memory is not accessible: inaccessible_rank KIND.
#include "support/rank_program.hpp"

#include <sys/mman.h>

int main(int count, char** arguments) {
  using namespace weft;
  using test::require;
  constexpr std::size_t kSize = 1 << 18;
  const std::string kind = count > 1 ? arguments[1] : "";
  const std::vector<AttributeSetting> silent = {{"log", "error"}};
  Runtime runtime({.attributes = silent});
  Endpoint endpoint(runtime);
  void* const memory = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(memory, 1, kSize);
  const MemoryRegion region(runtime, {static_cast<std::byte*>(memory), kSize});
  std::vector<RemoteRegion> keys(static_cast<std::size_t>(runtime.size()));
  runtime.allgather(bytes_of(region.remote()), std::as_writable_bytes(std::span(keys)));
  Counter ended;
  const RemoteCompletion end = runtime.expose(ended, {.id = 1});
  const auto access = [&](Outcome read, Outcome written) {
    for (const std::size_t size : {8U, 3000U, 150'000U}) {
      std::vector<std::byte> bytes(size);
      require(endpoint.put(1, keys[1].at(64), bytes) == written, "a put ended otherwise");
      require(endpoint.get(1, keys[1].at(64), bytes) == read, "a get ended otherwise");
    }
    const auto fetched = endpoint.fetch_atomic<std::uint64_t>(1, keys[1].at(64), AtomicOperation::add, 1);
    require(fetched.outcome == written, "an atomic operation ended otherwise");
    static_cast<void>(endpoint.send_am(1, end, {}));
  };
  if (runtime.rank() == 1) {
    // Whatever the two need of each other is mapped by then, and nothing lies where the memory was.
    endpoint.wait(ended, 1);
    if (kind == "read_only") ::mprotect(memory, kSize, PROT_READ);
    if (kind == "none") ::mprotect(memory, kSize, PROT_NONE);
    if (kind == "unmapped") ::munmap(memory, kSize);
    runtime.barrier();
    endpoint.wait(ended, 2);
    return 0;
  }
  access(Outcome::ok, Outcome::ok);
  runtime.barrier();
  access(kind == "read_only" ? Outcome::ok : Outcome::refused, Outcome::refused);
}
