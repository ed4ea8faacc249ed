// One of several ranks that are kept apart from each other by something around them: isolated_rank HOW.
//
// HOW: plain; undumpable (nobody may debug it); closed (closes the descriptors that it did not open after it
// has joined, as daemons do); reused (that, and what it opens afterwards has their numbers). Each rank
// exchanges messages of every protocol with the next one, and reaches memory that the next one has allocated
// or registered.
#include "support/rank_program.hpp"

#include <weft/weft.hpp>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace {

using namespace weft;
using test::require;

void exchange(Runtime& runtime, Endpoint& endpoint, CompletionQueue& inbox, RemoteCompletion remote) {
  const int next = (runtime.rank() + 1) % runtime.size();
  for (const std::size_t size : {std::size_t{8}, std::size_t{300}, std::size_t{5000}, std::size_t{3} << 20}) {
    const auto sender = static_cast<std::uint8_t>((runtime.rank() + runtime.size() - 1) % runtime.size());
    const std::vector<std::byte> bytes(size, static_cast<std::byte>(runtime.rank()));
    Counter sent;
    require(endpoint.send_am(next, remote, bytes, {.completion = &sent}) == Outcome::ok, "a send failed");
    const Message message = endpoint.wait(inbox);
    require(message.size() == size &&
                std::ranges::all_of(message.bytes(),
                                    [&](std::byte byte) { return byte == static_cast<std::byte>(sender); }),
            "a message has other content");
    endpoint.wait(sent, 1);
  }
}

void access(Runtime& runtime, Endpoint& endpoint, MemoryRegion& region) {
  const int next = (runtime.rank() + 1) % runtime.size();
  std::vector<RemoteRegion> keys(static_cast<std::size_t>(runtime.size()));
  const RemoteRegion mine = region.remote();
  runtime.allgather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(keys)));
  const MappedRegion there = map(runtime, keys[static_cast<std::size_t>(next)]);
  const auto value = static_cast<std::uint64_t>(runtime.rank()) + 100;
  std::uint64_t back = 0;
  require(endpoint.put(next, there.at(8), bytes_of(value)) == Outcome::ok, "a put failed");
  require(endpoint.get(next, there.at(8), std::as_writable_bytes(std::span(&back, 1))) == Outcome::ok,
          "a get failed");
  require(back == value, "a get has brought something else");
  const auto fetched = endpoint.fetch_atomic<std::uint64_t>(next, there.at(16), AtomicOperation::add, 5);
  require(fetched && fetched.value == 0, "an atomic operation failed");
  // All are through before the memory goes; the next one's accesses need this one's progress meanwhile.
  Collective all(runtime, endpoint, {.key = 5});
  require(all.barrier() == Outcome::ok, "a barrier failed");
  std::uint64_t put = 0;
  std::memcpy(&put, region.bytes().data() + 8, sizeof put);
  require(put == static_cast<std::uint64_t>((runtime.rank() + runtime.size() - 1) % runtime.size()) + 100,
          "a put did not come");
  require(all.barrier() == Outcome::ok, "a barrier failed");
}

}  // namespace

int main(int count, char** arguments) {
  require(count == 2, "isolated_rank HOW");
  const std::string how = arguments[1];
  if (how == "undumpable") ::prctl(PR_SET_DUMPABLE, 0);
  try {
    Runtime runtime;
    Endpoint endpoint{runtime};
    CompletionQueue inbox;
    const RemoteCompletion remote = runtime.expose(inbox, {.id = 1});
    if (how == "closed" || how == "reused") {
      runtime.barrier();
      ::close_range(3, ~0U, 0);
      int file = -1;
      if (how == "reused")
        while ((file = ::open("/dev/full", O_RDWR)) >= 0 && file < 64) {
        }
      runtime.barrier();
    }
    exchange(runtime, endpoint, inbox, remote);
    {
      MemoryRegion allocated = MemoryRegion::allocate(runtime, 4096);
      access(runtime, endpoint, allocated);
    }
    std::vector<std::byte> own(4096);
    MemoryRegion registered(runtime, own);
    access(runtime, endpoint, registered);
    runtime.barrier();
    std::printf("rank %d fine\n", runtime.rank());
  } catch (const Error& error) {
    test::fail(error.what());
  }
}
