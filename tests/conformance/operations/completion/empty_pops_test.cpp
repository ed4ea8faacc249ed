// Threads that only poll completion objects, while others progress, give way as progress() does.
#include "support/ranks.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace {

thread_local std::uint64_t yields = 0;  // of this thread, in this program

}  // namespace

/// Instead of that of the C library, to count the calls.
extern "C" int sched_yield() noexcept {
  ++yields;
  return static_cast<int>(::syscall(SYS_sched_yield));
}

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::Ranks;

/// Empty polls until the thread has given way; false: it does not.
template <class Poll>
bool gives_way(const Poll& poll) {
  const std::uint64_t before = yields;
  const auto end = std::chrono::steady_clock::now() + test::kHangGuard;
  for (std::uint64_t polls = 0; yields == before; ++polls) {
    poll();
    if (polls % 4096 == 0 && std::chrono::steady_clock::now() > end) return false;
  }
  return true;
}

TEST(EmptyPolls, of_queues_and_synchronizers_give_way) {
  Ranks<Endpoint> ranks{1};
  std::thread([] {
    CompletionQueue any;
    SingleConsumerQueue single;
    SerialCompletionQueue serial;
    Synchronizer synchronizer;
    Message message;
    EXPECT_TRUE(gives_way([&] { EXPECT_FALSE(any.pop(message)); }));
    EXPECT_TRUE(gives_way([&] { EXPECT_FALSE(single.pop(message)); }));
    EXPECT_TRUE(gives_way([&] { EXPECT_FALSE(serial.pop(message)); }));
    EXPECT_TRUE(gives_way([&] { EXPECT_FALSE(synchronizer.test()); }));
  }).join();
}

TEST(EmptyPolls, do_not_give_way_where_the_program_has_forbidden_it) {
  Ranks<Endpoint> ranks{1, {{"poll_yield", "no"}}};
  std::thread([] {
    CompletionQueue queue;
    Message message;
    const auto end = std::chrono::steady_clock::now() + 20ms;
    while (std::chrono::steady_clock::now() < end)
      for (int polls = 0; polls < 1000; ++polls) EXPECT_FALSE(queue.pop(message));
    EXPECT_EQ(yields, 0U);
  }).join();
}

TEST(EmptyPolls, find_what_other_threads_bring) {
  constexpr std::uint32_t kMessages = 200;
  const unsigned threads = 2 * std::max(1U, std::thread::hardware_concurrency());
  Ranks<Endpoint> ranks{1};
  CompletionQueue queue;
  const RemoteCompletion remote = ranks.runtime(0).expose(queue, {.id = 1});
  std::atomic<std::uint32_t> got{0};
  std::vector<std::thread> poppers;
  for (unsigned number = 0; number < threads; ++number)
    poppers.emplace_back([&] {
      Message message;
      while (got.load(std::memory_order_relaxed) < kMessages)
        if (queue.pop(message)) got.fetch_add(1, std::memory_order_relaxed);
    });
  for (std::uint32_t number = 0; number < kMessages; ++number) {
    ASSERT_TRUE(ranks.post(0, 0, remote, {}).has_value());
    EXPECT_TRUE(ranks.progress_until([&] { return got.load() > number; }));
  }
  for (std::thread& popper : poppers) popper.join();
}

}  // namespace
}  // namespace weft
