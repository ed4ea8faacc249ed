// A rank that stays where a test of explanations wants it, until it is killed: diagnosis_rank <mode>.
#include <weft/binding/call_context.hpp>
#include <weft/weft.hpp>

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

namespace {

/// Tells the test that everything has been posted.
void say_ready() { static_cast<void>(!::write(STDOUT_FILENO, "ready\n", 6)); }

[[noreturn]] void sleep_forever() {
  for (;;) ::pause();
}

void wait_for_message(weft::Endpoint& endpoint, int from, std::uint64_t tag) {
  std::uint64_t value = 0;
  static_cast<void>(endpoint.receive(from, tag, std::as_writable_bytes(std::span(&value, 1))));
}

/// Has no room, now and always, but does not say that.
class Full final : public weft::PayloadOwner {
 public:
  std::byte* allocate(std::size_t) noexcept override { return nullptr; }
  void release(std::byte*, std::size_t, std::uint64_t) noexcept override {}
};

/// The address space of this process ends soon.
void limit_memory(std::size_t bytes) {
  const rlimit limit{bytes, bytes};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::perror("diagnosis_rank: setrlimit");
}

/// Addresses that nobody writes to, which take no memory.
std::span<const std::byte> reserve(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::perror("diagnosis_rank: mmap");
  return {static_cast<const std::byte*>(memory), bytes};
}

void answer_signal_itself(int) { static_cast<void>(!::write(STDOUT_FILENO, "own handler\n", 12)); }

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "own_handler") ::signal(SIGUSR1, answer_signal_itself);
  weft::Runtime runtime;
  weft::Endpoint endpoint{runtime};
  const int rank = runtime.rank();
  const int next = (rank + 1) % runtime.size();
  if (mode == "circle") {  // everybody waits for the next one
    say_ready();
    wait_for_message(endpoint, next, 100 + rank);
  } else if (mode == "context") {  // rank 0 waits for a message in a call of a binding, rank 1 in one of C
    say_ready();
    if (rank == 0) {
      const weft::CallContext context("MPI_Recv", "MPI_COMM_WORLD", "halo.c", 12);
      wait_for_message(endpoint, next, 5);
    }
    const weft::CallContext context("MPI_Barrier", "MPI_COMM_SELF");
    runtime.barrier();
  } else if (mode == "computes") {  // rank 1 does not come back to weft
    say_ready();
    if (rank == 1) sleep_forever();
    wait_for_message(endpoint, 1, 5);
  } else if (mode == "wrong_tag") {  // rank 1 has sent something else, and waits for a message in a queue
    weft::CompletionQueue inbox;
    static_cast<void>(runtime.expose(inbox, {.id = 17}));
    if (rank == 1) static_cast<void>(endpoint.send(0, 6, weft::bytes_of(rank)));
    say_ready();
    if (rank == 1) static_cast<void>(endpoint.wait(inbox));
    wait_for_message(endpoint, 1, 5);
  } else if (mode == "large") {  // rank 0's message is too large to be kept, and rank 1 wants none
    const std::vector<std::byte> bytes(1 << 20);
    say_ready();
    if (rank == 1) sleep_forever();
    static_cast<void>(endpoint.send(1, 8, bytes));
  } else if (mode == "no_memory") {  // rank 0's message finds no buffer at rank 1, which waits for it
    Full full;
    weft::CompletionQueue inbox;
    inbox.set_allocator(full);
    const weft::RemoteCompletion remote = runtime.expose(inbox, {.id = 18});
    const std::vector<std::byte> bytes(1 << 20);
    say_ready();
    if (rank == 0) static_cast<void>(endpoint.send_am(1, remote, bytes, {.tag = 8}));
    static_cast<void>(endpoint.wait(inbox));
  } else if (mode == "too_large") {  // for rank 1's address space
    constexpr std::size_t kSize = std::size_t{5} << 30;
    weft::CompletionQueue inbox;
    const weft::RemoteCompletion remote = runtime.expose(inbox, {.id = 18});
    runtime.barrier();
    if (rank == 1) limit_memory(std::size_t{4} << 30);
    runtime.barrier();
    if (rank == 0) {
      const weft::Outcome outcome = endpoint.send_am(1, remote, reserve(kSize));
      std::printf("%s\n", weft::name_of(outcome));
    }
    runtime.barrier();
    if (rank == 1) std::printf("%d refused\n", static_cast<int>(runtime.counters().refused_messages));
  } else if (mode == "barrier") {  // rank 0 does not come
    say_ready();
    if (rank == 0) wait_for_message(endpoint, 1, 3);
    runtime.barrier();
  } else if (mode == "collective" || mode == "made") {  // rank 0 does not come to the second one
    weft::Collective all{runtime, endpoint};
    const std::vector<double> mine(10);
    std::vector<double> sums(10);
    static_cast<void>(all.barrier());
    say_ready();
    if (rank == 0) wait_for_message(endpoint, 1, 3);
    if (mode == "made") {
      weft::CollectiveOperation operation = all.make_broadcast(sums, 0);
      operation.start();
      static_cast<void>(operation.wait());
    }
    static_cast<void>(all.allreduce(mine, sums, weft::operators::Sum{}));
  } else if (mode == "put") {  // into memory that rank 1 would have to fill by its progress
    std::vector<std::uint64_t> memory(8);
    const weft::MemoryRegion own{runtime, weft::mutable_bytes_of(memory)};
    std::vector<weft::RemoteRegion> regions(static_cast<std::size_t>(runtime.size()));
    runtime.allgather(weft::bytes_of(own.remote()), weft::mutable_bytes_of(regions));
    say_ready();
    if (rank == 1) sleep_forever();
    static_cast<void>(
        endpoint.fetch_atomic<std::uint64_t>(1, regions[1].at(0), weft::AtomicOperation::add, 1));
  } else if (mode == "ended") {  // rank 1 goes away
    if (rank == 0) say_ready();
    if (rank == 0) wait_for_message(endpoint, 1, 4);
  } else if (mode == "polls") {  // nobody waits: rank 0 takes nothing of what rank 1 sends again and again
    weft::CompletionQueue inbox({.capacity = 16});
    const weft::RemoteCompletion remote = runtime.expose(inbox, {.id = 17});
    std::uint64_t value = 0;
    const auto buffer = std::as_writable_bytes(std::span(&value, 1));
    weft::Counter ended;
    if (rank == 0) static_cast<void>(endpoint.post_receive(1, 5, buffer, {.completion = &ended}));
    if (rank == 1) static_cast<void>(endpoint.send(0, 6, weft::bytes_of(rank)));
    say_ready();
    for (;;) {
      if (rank == 1) static_cast<void>(endpoint.post_am(0, remote, weft::bytes_of(value)));
      endpoint.progress();
    }
  } else if (mode == "not_exposed") {  // rank 1 has chosen another id
    weft::Counter arrived;
    if (rank == 1) static_cast<void>(runtime.expose(arrived, {.id = 2}));
    say_ready();
    if (rank == 1) sleep_forever();
    static_cast<void>(endpoint.send_am(1, weft::RemoteCompletion(1, 1, 0), {}));
  } else if (mode == "not_exposed_polls") {
    say_ready();
    while (rank == 0) {
      static_cast<void>(endpoint.post_am(1, weft::RemoteCompletion(1, 1, 0), {}));
      endpoint.progress();
    }
    sleep_forever();
  } else if (mode == "not_exposed_in_backlog") {
    weft::Counter sent;
    say_ready();
    if (rank == 1) sleep_forever();
    static_cast<void>(endpoint.post_am(1, weft::RemoteCompletion(1, 1, 0), weft::bytes_of(std::uint64_t{1}),
                                       {.completion = &sent, .tag = 4, .may_retry = false}));
    endpoint.wait(sent, 1);
  } else if (mode == "waits_in_handler") {
    weft::Counter never;
    weft::Handler handler{[&](weft::Message&) { endpoint.wait(never, 1); }};
    const weft::RemoteCompletion remote = runtime.expose(handler, {.id = 1});
    say_ready();
    static_cast<void>(endpoint.send_am(0, remote, {}));
    for (;;) endpoint.progress();
  } else if (mode == "own_handler") {
    say_ready();
    wait_for_message(endpoint, next, 1);
  } else {
    std::fprintf(stderr, "diagnosis_rank: no mode \"%s\"\n", argc > 1 ? argv[1] : "");
    return 2;
  }
}
