// Puts, gets and atomic operations of 8 bytes on memory that weft has allocated.
#include "instructions.hpp"

namespace weft::budget {
namespace {

constexpr std::size_t kRegion = 4096;

template <class Access>
void access(std::uint64_t messages, const Access& each) {
  Pair<SerialEndpoint> ranks;
  MemoryRegion region = MemoryRegion::allocate(ranks.receiving, kRegion);
  const MappedRegion mapped = map(ranks.sending, region.remote());
  for (std::uint64_t next = 0; next < messages; ++next) each(ranks, mapped, next % (kRegion / 8) * 8, next);
}

void put(std::uint64_t messages) {
  access(messages, [](auto& ranks, const MappedRegion& mapped, std::uint64_t offset, std::uint64_t value) {
    static_cast<void>(ranks.sender.post_put(1, mapped.at(offset), bytes_of(value)));
  });
}

void get(std::uint64_t messages) {
  access(messages, [](auto& ranks, const MappedRegion& mapped, std::uint64_t offset, std::uint64_t value) {
    static_cast<void>(
        ranks.sender.post_get(1, mapped.at(offset), std::as_writable_bytes(std::span(&value, 1))));
  });
}

/// The ends of the puts are counted.
void put_told(std::uint64_t messages) {
  Counter ended;
  access(messages, [&](auto& ranks, const MappedRegion& mapped, std::uint64_t offset, std::uint64_t value) {
    static_cast<void>(ranks.sender.post_put(1, mapped.at(offset), bytes_of(value), {.completion = &ended}));
  });
  if (ended.value() != messages) std::abort();
}

void prepared_put(std::uint64_t messages) {
  Pair<SerialEndpoint> ranks;
  MemoryRegion region = MemoryRegion::allocate(ranks.receiving, kRegion);
  std::uint64_t value = 0;
  auto operation = ranks.sender.prepare_put(1, map(ranks.sending, region.remote()).at(64), bytes_of(value));
  for (; value < messages; ++value) static_cast<void>(operation.start());
}

void add(std::uint64_t messages) {
  access(messages, [](auto& ranks, const MappedRegion& mapped, std::uint64_t offset, std::uint64_t value) {
    static_cast<void>(
        ranks.sender.template post_atomic<std::uint64_t>(1, mapped.at(offset), AtomicOperation::add, value));
  });
}

void fetch_add(std::uint64_t messages) {
  access(messages, [](auto& ranks, const MappedRegion& mapped, std::uint64_t offset, std::uint64_t value) {
    std::uint64_t old = 0;
    static_cast<void>(ranks.sender.post_fetch_atomic(1, mapped.at(offset), AtomicOperation::add, value, old));
  });
}

void put_signal(std::uint64_t messages) {
  Counter counter;
  std::uint64_t posted = 0;
  RemoteCompletion signal;
  access(messages, [&](auto& ranks, const MappedRegion& mapped, std::uint64_t offset, std::uint64_t value) {
    if (posted == 0) signal = ranks.receiving.expose(counter, {.id = 1});
    while (ranks.sender.post_put(1, mapped.at(offset), bytes_of(value), {.signal = signal}).is_retry()) {
      ranks.receiver.progress();
      ranks.sender.progress();
    }
    if (++posted % kBurst == 0) {
      while (counter.value() < posted) ranks.receiver.progress();
      ranks.sender.progress();
    }
    if (posted == messages) counter.withdraw();
  });
}

constexpr Path kPaths[] = {{"put", put},
                           {"get", get},
                           {"put_told", put_told},
                           {"put_signal", put_signal},
                           {"prepared_put", prepared_put},
                           {"add", add},
                           {"fetch_add", fetch_add}};

}  // namespace
}  // namespace weft::budget

int main(int count, char** arguments) {
  return weft::budget::run_path(count, arguments, weft::budget::kPaths);
}
