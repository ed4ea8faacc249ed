// Workers that go to sleep while something comes: here a sleep has no limit of time, so that a wake-up that
// is lost is a test that hangs.
#include <gtest/gtest.h>

#include <weft/parcel/future.hpp>
#include <weft/parcel/latch.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "parcel/tasks/worker_pool.hpp"

namespace weft::parcel {
namespace {

/// Sleeps until it is woken, or the deadline of a task; the limit that the pool gives to every sleep is
/// ignored.
class Patient final : public BackgroundWork {
 public:
  /// Where something comes, while a worker goes to sleep.
  enum class Moment { before_the_count, behind_the_count, before_the_sleep };

  bool poll(unsigned) override {
    if (!has_message.exchange(false)) return false;
    on_message();
    return true;
  }
  std::uint64_t wakes() const noexcept override {
    at(Moment::before_the_count);
    const std::uint64_t count = wakes_.load();
    at(Moment::behind_the_count);
    return count;
  }
  void park(unsigned, Timeout longest, std::uint64_t seen) override {
    at(Moment::before_the_sleep);
    std::unique_lock lock(mutex_);
    const auto is_over = [&] { return wakes_ != seen; };
    ++sleepers;
    if (longest.count() >= 10'000'000)
      changed_.wait(lock, is_over);
    else
      changed_.wait_for(lock, std::chrono::nanoseconds(longest.count()), is_over);
    --sleepers;
  }
  void wake() noexcept override {
    const std::lock_guard lock(mutex_);
    ++wakes_;
    changed_.notify_all();
  }

  std::atomic<bool> has_message{false};
  std::function<void()> on_message;
  std::atomic<int> sleepers{0};
  // What comes, once.
  std::optional<Moment> moment;
  std::function<void()> event;
  mutable std::atomic<bool> is_armed{false};

 private:
  void at(Moment here) const {
    if (moment == here && is_armed.exchange(false)) event();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<std::uint64_t> wakes_{0};
};

class PatientPool {
 public:
  explicit PatientPool(unsigned workers) : pool_(workers, std::size_t{256} << 10, patient, this) {}
  ~PatientPool() { pool_.stop(); }
  template <class Function>
  Future<void> spawn(Function function) {
    Promise<void> promise(&pool_);
    Future<void> future = promise.future();
    detail::schedule_call(pool_,
                          [promise = std::move(promise), function = std::move(function)]() mutable noexcept {
                            detail::fulfil(promise, [&] { function(); });
                          });
    return future;
  }
  WorkerPool& pool() { return pool_; }
  Patient patient;

 private:
  WorkerPool pool_;
};

class GoingToSleep : public testing::TestWithParam<Patient::Moment> {};

/// What comes from another thread while the only worker goes to sleep.
TEST_P(GoingToSleep, ATaskIsRun) {
  for (int round = 0; round < 20; ++round) {
    PatientPool pool(1);
    Latch done(1);
    pool.patient.moment = GetParam();
    pool.patient.event = [&] {
      std::thread([&] { detail::schedule_call(pool.pool(), [&]() noexcept { done.count_down(); }); }).join();
    };
    pool.patient.is_armed = true;
    pool.pool().start();
    done.wait();
  }
}

TEST_P(GoingToSleep, TheEndIsHeard) {
  PatientPool pool(1);
  std::atomic<bool> begins{false};
  pool.patient.moment = GetParam();
  pool.patient.event = [&] {
    begins = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // most of the time it comes meanwhile
  };
  pool.patient.is_armed = true;
  pool.pool().start();
  while (!begins) std::this_thread::yield();
  pool.pool().stop();
}

std::string name_of(const testing::TestParamInfo<Patient::Moment>& instance) {
  switch (instance.param) {
    case Patient::Moment::before_the_count:
      return "before_the_count";
    case Patient::Moment::behind_the_count:
      return "behind_the_count";
    case Patient::Moment::before_the_sleep:
      break;
  }
  return "before_the_sleep";
}
INSTANTIATE_TEST_SUITE_P(Moments, GoingToSleep,
                         testing::Values(Patient::Moment::before_the_count, Patient::Moment::behind_the_count,
                                         Patient::Moment::before_the_sleep),
                         &name_of);

/// Whoever brings it has seen no worker asleep, and wakes none.
TEST(Resting, WhatOnlyAPollSeesIsSeenBeforeTheSleep) {
  PatientPool pool(1);
  Latch done(1);
  pool.patient.moment = Patient::Moment::before_the_count;
  pool.patient.event = [&] { pool.patient.has_message = true; };
  pool.patient.on_message = [&] { done.count_down(); };
  pool.patient.is_armed = true;
  pool.pool().start();
  done.wait();
}

TEST(Resting, ADeadlineEndsTheSleep) {
  PatientPool pool(2);
  pool.pool().start();
  for (int round = 0; round < 10; ++round) {
    while (pool.patient.sleepers != 2) std::this_thread::yield();
    pool.spawn([] {
          Promise<int> never;
          auto future = never.future();
          EXPECT_FALSE(future.wait_for(std::chrono::milliseconds(1)));
        })
        .get();
  }
}

TEST(Resting, WorkersThatSleepAgainAndAgainMissNothing) {
  for (const unsigned workers : {1U, 2U, 4U}) {
    PatientPool pool(workers);
    pool.pool().start();
    for (int round = 0; round < 300; ++round) {
      std::vector<Future<void>> tasks;
      for (int task = 0; task < 5; ++task)
        tasks.push_back(pool.spawn([&] { pool.spawn([&] { pool.spawn([] {}).get(); }).get(); }));
      for (auto& task : tasks) task.get();
      if (round % 50 == 0)
        while (pool.patient.sleepers != static_cast<int>(workers)) std::this_thread::yield();
    }
  }
}

}  // namespace
}  // namespace weft::parcel
