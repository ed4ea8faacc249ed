// An empty progress() and an empty pop() only read: they run with all memory but the stack and the thread's
// own write-protected.
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>
#include <string>

namespace weft {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kMeasurable = false;
#else
constexpr bool kMeasurable = true;
#endif

thread_local int of_this_thread = 0;

struct Region {
  char* begin;
  std::size_t size;
};

/// Shared segments, the heap, and anonymous memory; not the stack, and not where thread-local variables lie.
std::size_t protectable(Region* regions, std::size_t room) {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  char line[512];
  std::size_t count = 0;
  const auto own = reinterpret_cast<std::uintptr_t>(&of_this_thread);
  const auto stack = reinterpret_cast<std::uintptr_t>(&count);
  while (count < room && std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long begin = 0;
    unsigned long end = 0;
    char access[8] = {};
    char name[256] = {};
    std::sscanf(line, "%lx-%lx %7s %*s %*s %*s %255[^\n]", &begin, &end, access, name);
    if (access[1] != 'w' || (begin <= own && own < end) || (begin <= stack && stack < end)) continue;
    const std::string text = name;
    const bool shared = access[3] == 's';
    if (shared || text.empty() || text == "[heap]")
      regions[count++] = {reinterpret_cast<char*>(begin), static_cast<std::size_t>(end - begin)};
  }
  std::fclose(maps);
  return count;
}

/// Runs `call` with everything protected, in a child; the child's exit code, or minus the signal that ended
/// it.
template <class Prepare>
int run_protected(const Prepare& prepare) {
  const pid_t child = ::fork();
  if (child == 0) {
    prepare([](const auto& call) {
      static Region regions[512];
      const std::size_t count = protectable(regions, std::size(regions));
      if (count == 0) ::_exit(5);
      for (std::size_t index = 0; index < count; ++index)
        if (::mprotect(regions[index].begin, regions[index].size, PROT_READ) != 0) ::_exit(6);
      const bool empty = call();
      ::_exit(empty ? 0 : 7);
    });
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

template <class EndpointType>
int empty_progress() {
  return run_protected([](const auto& protect) {
    test::Ranks<EndpointType> ranks(2);
    Counter arrived;
    const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
    std::vector<std::byte> bytes = test::payload(3000, 1);
    for (int count = 0; count < 300; ++count)
      static_cast<void>(ranks.post(0, 1, remote, Bytes(bytes).first(count % 2 ? 8 : 3000)));
    while (arrived.value() < 300) ranks.progress();
    for (int idle = 0; idle < 100; ++idle) ranks.progress();
    EndpointType& receiver = ranks.endpoint(1);
    EndpointType& sender = ranks.endpoint(0);
    protect([&] {
      std::size_t moved = 0;
      for (int round = 0; round < 10'000; ++round) moved += receiver.progress() + sender.progress();
      return moved == 0;
    });
  });
}

template <class Queue>
int empty_pop() {
  return run_protected([](const auto& protect) {
    Queue queue({.initial = 2});
    Message message;
    for (int round = 0; round < 100; ++round) {
      for (int count = 0; count <= round % 5; ++count) {
        Message pushed;
        queue.signal(pushed);
      }
      while (queue.pop(message)) {
      }
    }
    protect([&] {
      bool popped = false;
      Message none[4];
      for (int round = 0; round < 1000; ++round)
        popped = popped || queue.pop(message) || queue.pop(none) != 0 || !queue.empty() || queue.ready();
      return !popped;
    });
  });
}

TEST(EmptyCalls, would_be_caught_writing) {
  if (!kMeasurable) GTEST_SKIP() << "sanitizers write to memory of their own";
  EXPECT_EQ(run_protected([](const auto& protect) {
              auto word = std::make_unique<std::atomic<int>>(0);
              protect([&] {
                word->store(1);
                return true;
              });
            }),
            -SIGSEGV);
}

TEST(EmptyCalls, of_progress_only_read) {
  if (!kMeasurable) GTEST_SKIP() << "sanitizers write to memory of their own";
  EXPECT_EQ(empty_progress<SerialEndpoint>(), 0);
  EXPECT_EQ(empty_progress<Endpoint>(), 0);
}

TEST(EmptyCalls, of_pop_only_read) {
  if (!kMeasurable) GTEST_SKIP() << "sanitizers write to memory of their own";
  EXPECT_EQ(empty_pop<CompletionQueue>(), 0);
  EXPECT_EQ(empty_pop<SingleConsumerQueue>(), 0);
  EXPECT_EQ(empty_pop<SerialCompletionQueue>(), 0);
}

}  // namespace
}  // namespace weft
