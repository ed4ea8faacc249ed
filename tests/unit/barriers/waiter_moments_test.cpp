// A task that waits, and an event that comes between its last look and the moment when its stack has been
// left: forced, on the callers' own code, by memory that it allocates in between.
#include "parcel/tasks/worker_pool.hpp"
#include "support/ranks.hpp"
#include "unit/barriers/allocation_moment.hpp"

#include <weft/parcel/waiter.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace weft::parcel {
namespace {

class Quiet final : public BackgroundWork {
 public:
  bool poll(unsigned) override { return false; }
  std::uint64_t wakes() const noexcept override { return 0; }
  void park(unsigned, Timeout, std::uint64_t) override { std::this_thread::yield(); }
  void wake() noexcept override {}
};

class AnEventWhileAStackIsLeft : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(by, AnEventWhileAStackIsLeft, testing::Bool(), [](const auto& by_another_thread) {
  return by_another_thread.param ? "another_thread" : "the_same_thread";
});

TEST_P(AnEventWhileAStackIsLeft, continues_the_task) {
  Quiet quiet;
  WorkerPool pool(1, std::size_t{1} << 20, quiet, &quiet);
  pool.start();
  constexpr int kRounds = 3;
  std::atomic<int> notified{0};
  std::atomic<int> ended{0};
  auto call = [&]() noexcept {
    for (int round = 0; round < kRounds; ++round) {
      Waiter waiter({"the test", &notified});
      const auto notify = [&] {
        ++notified;
        waiter.notify();
      };
      const test::AllocationMoment moment([&] {
        if (GetParam())
          std::thread(notify).join();
        else
          notify();
      });
      // Looks whether the event has come, and notes its deadline, for which it takes memory.
      static_cast<void>(waiter.wait_until(Waiter::Clock::now() + std::chrono::hours(1)));
      ++ended;
    }
  };
  pool.schedule(*new detail::FunctionTask<decltype(call)>(std::move(call)), {});
  if (!test::until([&] { return ended.load() == kRounds; }, [] {})) {
    // Its pool cannot end either.
    std::fprintf(stderr, "%d events, %d of these waits ended: the task is not continued\n", notified.load(),
                 ended.load());
    std::abort();
  }
  EXPECT_EQ(notified.load(), kRounds) << "the event has to come in between";
  pool.stop();
}

}  // namespace
}  // namespace weft::parcel
