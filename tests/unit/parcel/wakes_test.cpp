// Who is woken for a task: workers that sleep, and nobody while all work.
#include <gtest/gtest.h>

#include <weft/parcel/future.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "parcel/tasks/worker_pool.hpp"

namespace weft::parcel {
namespace {

class CountedWakes final : public BackgroundWork {
 public:
  bool poll(unsigned) override { return false; }
  std::uint64_t wakes() const noexcept override {
    const std::lock_guard lock(mutex_);
    return wakes_;
  }
  void park(unsigned, Timeout, std::uint64_t seen) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(1), [&] { return wakes_ != seen; });
  }
  void wake() noexcept override {
    const std::lock_guard lock(mutex_);
    ++wakes_;
    changed_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t wakes_ = 0;
};

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
