// One of two ranks of which rank 0 makes a child in the midst of the job: fork_rank HOW END.
//
// HOW: how the child is made: fork, system, popen, spawn, vfork, or "bare", by _Fork(), which runs no
// handlers. END: how a child of fork() ends: exit, _exit, return (from main, over all destructors), static
// (exit, and the runtime is a static object), exec, helper (lives on, longer than the rank), or what it uses
// of weft first: post, post_large, send, prepared, put, receive, progress, wait, expose, barrier, endpoint,
// device, runtime, region, flush, packet. Afterwards both ranks go on to exchange messages, puts and a
// barrier.
#include "support/rank_program.hpp"

#include <weft/weft.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstring>
#include <optional>
#include <thread>

namespace {

using namespace weft;
using test::fail;
using test::require;

constexpr std::size_t kRegion = 16384;

std::unique_ptr<Runtime> of_the_program;  // destroyed by exit()

/// What a rank has while the child is made.
struct Rank {
  explicit Rank(Runtime& joined)
      : runtime(joined), device(runtime, {.index = 1}), region(MemoryRegion::allocate(runtime, kRegion)) {
    remote = runtime.expose(inbox, {.id = 1});
    std::vector<RemoteRegion> keys(static_cast<std::size_t>(runtime.size()));
    const RemoteRegion mine = region.remote();
    runtime.allgather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(keys)));
    mapped = map(runtime, keys[static_cast<std::size_t>(peer())]);
    prepared.emplace(serial.prepare_send(peer(), 77, bytes_of(kept)));
  }
  [[nodiscard]] int peer() const { return 1 - runtime.rank(); }

  void exchange(std::uint64_t value) {
    static_cast<void>(endpoint.send_am(peer(), remote, bytes_of(value)));
    const Message message = endpoint.wait(inbox);
    require(message.as<std::uint64_t>() == value, "a wrong message came");
    // Kept where it lies, in the peer's packet, and given back.
    const std::vector<std::byte> large(3000, static_cast<std::byte>(value));
    static_cast<void>(endpoint.send_am(peer(), remote, large));
    held = endpoint.wait(inbox);
    require(
        held.bytes().size() == large.size() && std::equal(large.begin(), large.end(), held.bytes().begin()),
        "a wrong large message came");
    require(endpoint.put(peer(), mapped.at(64), bytes_of(value)) == Outcome::ok, "a put was refused");
    runtime.barrier();
    std::uint64_t there = 0;
    std::memcpy(&there, region.bytes().data() + 64, sizeof there);
    require(there == value, "a put did not come");
    runtime.barrier();
  }

  Runtime& runtime;
  Device device;
  Endpoint endpoint{runtime};
  SerialEndpoint serial{device};
  CompletionQueue inbox;
  RemoteCompletion remote;
  MemoryRegion region;
  MappedRegion mapped;
  std::uint64_t kept = 5;
  Message held;
  std::optional<PersistentSend<detail::NoLock>> prepared;
};

/// Never returns when the call is refused or ends the process, as it should.
void use(Rank& rank, const std::string& what) {
  const std::uint64_t value = 99;
  std::byte into[8];
  Runtime& runtime = rank.runtime;
  Endpoint& endpoint = rank.endpoint;
  Counter counter;
  if (what == "post") static_cast<void>(endpoint.post_am(rank.peer(), rank.remote, bytes_of(value)));
  if (what == "post_large") {
    const std::vector<std::byte> large(1 << 20);
    static_cast<void>(endpoint.post_am(rank.peer(), rank.remote, large, {.completion = &counter}));
  }
  if (what == "send") static_cast<void>(endpoint.post_send(rank.peer(), 3, bytes_of(value)));
  if (what == "prepared") static_cast<void>(rank.prepared->start());
  if (what == "put") static_cast<void>(endpoint.post_put(rank.peer(), rank.mapped.at(64), bytes_of(value)));
  if (what == "receive")
    static_cast<void>(endpoint.post_receive(rank.peer(), 3, into, {.completion = &counter}));
  if (what == "progress") endpoint.progress();
  if (what == "wait") endpoint.wait(counter, 1);
  if (what == "expose") runtime.expose(counter, {.id = 9});
  if (what == "barrier") runtime.barrier();
  if (what == "endpoint") const Endpoint another{runtime};
  if (what == "device") const Device another{runtime};
  if (what == "runtime") const Runtime another;
  if (what == "region") const MemoryRegion another = MemoryRegion::allocate(runtime, 64);
  std::fprintf(stderr, "the child could use weft: %s\n", what.c_str());
  std::_Exit(0);
}

/// A child that nobody waits for says here that it has looked: its region goes on being written to.
int has_looked[2];

/// In the child. True: it is to return from main.
bool end_child(Rank& rank, const std::string& end) {
  // What it had it still has, and what it writes is its own.
  require(rank.held.bytes()[2999] == std::byte{1}, "the child cannot read what was kept");
  std::uint64_t value = 0;
  std::memcpy(&value, rank.region.bytes().data() + 64, sizeof value);
  require(value == 1, "the child cannot read its memory");
  std::memset(rank.region.bytes().data(), 0xee, kRegion);
  if (end == "_exit") ::_exit(0);
  if (end == "return") return true;
  if (end == "exit" || end == "static") std::exit(0);
  if (end == "exec") ::execlp("true", "true", nullptr);
  if (end == "helper") {
    require(::write(has_looked[1], "!", 1) == 1, "write");
    ::setsid();
    ::sleep(1000);
  }
  try {
    use(rank, end);
  } catch (const Error& error) {
    fail(error.what());
  }
  return false;
}

bool make_child(Rank& rank, const std::string& how, const std::string& end) {
  int status = 0;
  if (how == "system") status = std::system("exit 0");
  if (how == "popen") status = ::pclose(::popen("exit 0", "r"));
  if (how == "spawn") {
    pid_t child = 0;
    char* const arguments[] = {const_cast<char*>("true"), nullptr};
    require(::posix_spawnp(&child, "true", nullptr, nullptr, arguments, environ) == 0, "posix_spawnp");
    ::waitpid(child, &status, 0);
  }
  if (how == "vfork") {
    const pid_t child = ::vfork();
    if (child == 0) {
      ::execlp("true", "true", nullptr);
      ::_exit(1);
    }
    ::waitpid(child, &status, 0);
  }
  if (how == "fork" || how == "bare") {
    require(::pipe2(has_looked, O_CLOEXEC) == 0, "pipe2");
    const pid_t child = how == "fork" ? ::fork() : ::_Fork();
    if (child == 0) {
      if (how == "fork") return end_child(rank, end);
      if (end == "_exit") ::_exit(0);
      return true;
    }
    ::close(has_looked[1]);
    if (end == "helper") {
      char mark = 0;
      static_cast<void>(::read(has_looked[0], &mark, 1));
      return false;
    }
    ::waitpid(child, &status, 0);
  }
  std::printf("child: %s %d\n", WIFSIGNALED(status) ? "signal" : "exit",
              WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  std::fflush(stdout);
  return false;
}

/// False: this is a child, which returns from main.
bool run(Runtime& runtime, const std::string& how, const std::string& end) {
  Rank rank(runtime);
  std::atomic<bool> is_over{false};
  // Another thread, which a child does not have.
  std::thread busy([&] {
    Device own(runtime, {.index = 2});
    Endpoint endpoint(own);
    while (!is_over.load()) {
      endpoint.progress();
      std::this_thread::yield();
    }
  });
  rank.exchange(1);
  if (runtime.rank() == 0 && make_child(rank, how, end)) {
    busy.detach();
    return false;
  }
  for (std::uint64_t round = 2; round < 6; ++round) rank.exchange(round);
  is_over.store(true);
  busy.join();
  std::printf("rank %d fine\n", runtime.rank());
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  require(count == 3, "fork_rank HOW END");
  const std::string how = arguments[1];
  const std::string end = arguments[2];
  try {
    if (end == "static") {
      of_the_program = std::make_unique<Runtime>();
      run(*of_the_program, how, end);
      return 0;
    }
    Runtime runtime;
    run(runtime, how, end);
  } catch (const Error& error) {
    fail(error.what());
  }
}
