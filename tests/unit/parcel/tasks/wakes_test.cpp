// Who is woken for a task: workers that sleep, and nobody while all work.
#include <gtest/gtest.h>

#include <weft/parcel/future.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "parcel/tasks/worker_pool.hpp"
#include "unit/parcel/tasks/background_doubles.hpp"

namespace weft::parcel {
namespace {

TEST(WakesOfWorkers, AreNoneWhileAllWork) {
  CountedWakes background;
  WorkerPool pool(1, std::size_t{128} << 10, background, nullptr);
  pool.start();
  while (pool.sources().counts().parks < 3) std::this_thread::yield();
  std::uint64_t woken = ~std::uint64_t{0};
  Promise<void> promise(&pool);
  Future<void> future = promise.future();
  detail::schedule_call(pool, [&, promise = std::move(promise)]() mutable noexcept {
    const std::uint64_t before = background.wakes();
    for (int count = 0; count < 100; ++count) detail::schedule_call(pool, []() noexcept {});
    woken = background.wakes() - before;
    promise.set();
  });
  future.get();
  EXPECT_EQ(woken, 0U) << "the only worker was the one that ran this";
  pool.stop();
  EXPECT_EQ(pool.sources().counts().finished, 101U);
}

}  // namespace
}  // namespace weft::parcel
