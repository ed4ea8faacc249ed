// A mutex that is handed to who waits is nobody else's in between.
#include "parcel/tasks/worker_pool.hpp"

#include <weft/parcel/future.hpp>
#include <weft/parcel/mutex.hpp>

#include <gtest/gtest.h>

#include <thread>
#include <utility>

namespace weft::parcel {
namespace {

class Quiet final : public BackgroundWork {
 public:
  bool poll(unsigned) override { return false; }
  std::uint64_t wakes() const noexcept override { return 0; }
  void park(unsigned, Timeout, std::uint64_t) override { std::this_thread::yield(); }
  void wake() noexcept override {}
};

TEST(MutexOfTasks, ThatIsHandedOverIsNotFreeBefore) {
  Quiet quiet;
  WorkerPool pool(1, std::size_t{1} << 20, quiet, &quiet);
  pool.start();
  Mutex mutex;
  const auto spawn = [&](auto function) {
    Promise<void> promise(&pool);
    Future<void> future = promise.future();
    auto call = [promise = std::move(promise), function]() mutable noexcept {
      detail::fulfil(promise, [&] { function(); });
    };
    pool.schedule(*new detail::FunctionTask<decltype(call)>(std::move(call)), {});
    return future;
  };
  bool waiter_has_it = false;
  spawn([&] {
    mutex.lock();
    Promise<void> begins(&pool);
    Future<void> begun = begins.future();
    Future<void> waiter = spawn([&] {
      begins.set();
      mutex.lock();
      waiter_has_it = true;
      mutex.unlock();
    });
    begun.get();  // the only worker goes on here when the other task has left it: when that waits
    EXPECT_FALSE(waiter_has_it);
    mutex.unlock();
    EXPECT_FALSE(mutex.try_lock()) << "it was handed over, and not yet taken";
    waiter.get();
  }).get();
  EXPECT_TRUE(waiter_has_it);
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
  pool.stop();
}

}  // namespace
}  // namespace weft::parcel
