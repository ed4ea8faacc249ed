// Cancellation and executors.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include <weft/parcel/parcel.hpp>
#include <weft/testing/in_process_job.hpp>

namespace weft::parcel {
namespace {

class Stopping : public testing::TestWithParam<unsigned> {
 protected:
  InProcessJob job_{1};
  Runtime runtime_{job_, 0, {.workers = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(Workers, Stopping, testing::Values(1, 2),
                         [](const auto& instance) { return std::to_string(instance.param); });

TEST_P(Stopping, ATaskThatHasNotBegunNeverDoes) {
  std::stop_source source;
  std::atomic<bool> may_end{false};
  std::atomic<bool> has_run{false};
  std::vector<Future<void>> busy;  // keep all workers
  std::atomic<unsigned> begun{0};
  for (unsigned worker = 0; worker < GetParam(); ++worker)
    busy.push_back(runtime_.spawn([&] {
      ++begun;
      while (!may_end) std::this_thread::yield();
    }));
  while (begun != GetParam()) std::this_thread::yield();
  auto future = spawn(runtime_, source.get_token(), [&] { has_run = true; });
  source.request_stop();
  EXPECT_THROW(future.get(), Cancelled) << "at once, while no worker is free";
  may_end = true;
  for (auto& each : busy) each.get();
  runtime_.wait_quiet();
  EXPECT_FALSE(has_run);
  EXPECT_THROW(spawn(runtime_, source.get_token(), [] {}).get(), Cancelled);
}

TEST_P(Stopping, ATaskThatHasBegunLooksAtItsToken) {
  std::stop_source source;
  std::atomic<bool> has_begun{false};
  auto future = spawn(runtime_, source.get_token(), [&](const std::stop_token& token) {
    has_begun = true;
    while (!token.stop_requested()) std::this_thread::yield();
    return 5;
  });
  while (!has_begun) std::this_thread::yield();
  source.request_stop();
  EXPECT_EQ(future.get(), 5);
}

TEST_P(Stopping, AWaitEnds) {
  std::stop_source source;
  Promise<int> promise(&runtime_.scheduler());
  auto future = stoppable(promise.future(), source.get_token());
  auto waiting = runtime_.spawn([future = std::move(future)]() mutable { return future.get(); });
  source.request_stop();
  EXPECT_THROW(waiting.get(), Cancelled);
  promise.set(1);  // dropped
  EXPECT_EQ(stoppable(make_ready(4), std::stop_token()).get(), 4);
  EXPECT_THROW(
      stoppable(runtime_.spawn([]() -> int { throw std::runtime_error("first"); }), std::stop_token()).get(),
      std::runtime_error);
}

TEST_P(Stopping, StopAndValueMayMeet) {
  for (int round = 0; round < 500; ++round) {
    std::stop_source source;
    Promise<int> promise(&runtime_.scheduler());
    auto future = stoppable(promise.future(), source.get_token());
    std::thread stopper([&] { source.request_stop(); });
    promise.set(round);
    stopper.join();
    try {
      EXPECT_EQ(future.get(), round);
    } catch (const Cancelled&) {
    }
  }
}

TEST_P(Stopping, ACallIsNotSentAfterAStop) {
  std::stop_source source;
  const auto one = [] { return 1; };
  EXPECT_EQ(async(runtime_, source.get_token(), 0, one).get(), 1);
  source.request_stop();
  EXPECT_THROW(async(runtime_, source.get_token(), 0, one).get(), Cancelled);
}

class Executors : public Stopping {};
INSTANTIATE_TEST_SUITE_P(Workers, Executors, testing::Values(1, 2),
                         [](const auto& instance) { return std::to_string(instance.param); });

/// A pool of one thread that runs what it is given.
class StartedPool {
 public:
  void post(std::function<void()> function) {
    const std::lock_guard lock(mutex_);
    if (is_closed_) throw std::runtime_error("the pool is closed");
    functions_.push_back(std::move(function));
  }
  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    functions_.clear();
  }
  void run() {
    std::vector<std::function<void()>> now;
    {
      const std::lock_guard lock(mutex_);
      now.swap(functions_);
    }
    for (auto& function : now) function();
  }

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> functions_;
  bool is_closed_ = false;
};

TEST_P(Executors, RunContinuationsWhereTheySay) {
  static_assert(Executor<TaskExecutor> && Executor<InlineExecutor>);
  EXPECT_EQ(submit(InlineExecutor(), [] { return std::this_thread::get_id(); }).get(),
            std::this_thread::get_id());
  EXPECT_EQ(submit(TaskExecutor(runtime_), [] { return Runtime::current(); }).get(), &runtime_);
  EXPECT_EQ(make_ready(3).then(TaskExecutor(runtime_), [](int value) { return make_ready(value + 1); }).get(),
            4);

  auto pool = std::make_shared<StartedPool>();
  const FunctionExecutor executor(
      [pool](std::function<void()> function) { pool->post(std::move(function)); });
  auto there =
      runtime_.spawn([] { return std::make_unique<int>(6); }).then(executor, [](std::unique_ptr<int> value) {
        return std::pair(*value, std::this_thread::get_id());
      });
  while (!there.ready()) pool->run();
  EXPECT_EQ(there.get(), std::pair(6, std::this_thread::get_id()));

  auto failing =
      runtime_.spawn([]() -> int { throw std::runtime_error("first"); }).then(executor, [](int) {});
  while (!failing.ready()) pool->run();
  EXPECT_THROW(failing.get(), std::runtime_error);
}

TEST_P(Executors, ThatDropOrRefuseEndTheFuture) {
  auto pool = std::make_shared<StartedPool>();
  const FunctionExecutor executor(
      [pool](std::function<void()> function) { pool->post(std::move(function)); });
  auto dropped = submit(executor, [] { return 1; });
  pool->close();
  EXPECT_THROW(dropped.get(), BrokenPromise);
  EXPECT_THROW(submit(executor, [] { return 1; }).get(), std::runtime_error);
}

}  // namespace
}  // namespace weft::parcel
