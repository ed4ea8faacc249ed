// Deadlines of tasks: each ends its own wait when its time has come, and not before.
#include <gtest/gtest.h>

#include <weft/parcel/future.hpp>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "parcel/tasks/worker_pool.hpp"
#include "unit/parcel/tasks/background_doubles.hpp"

namespace weft::parcel {
namespace {

/// Tasks of a worker that a test steps, which wait until hours that the test says have come.
class DeadlinesOfTasks : public testing::Test {
 protected:
  using Time = std::chrono::steady_clock::time_point;

  DeadlinesOfTasks() { pool_.start(); }
  ~DeadlinesOfTasks() override {
    for (std::size_t number = 0; number < promises_.size(); ++number) give(number);
    static_cast<void>(stepper_.run_until([&] { return ended_ == promises_.size(); }, 100'000));
    pool_.stop();
  }
  [[nodiscard]] Time in_hours(int hours) const { return begin_ + std::chrono::hours(hours); }
  [[nodiscard]] std::int64_t ns_of(int hours) const { return Timers::of(in_hours(hours)); }
  /// A task waits for so long; then, if nothing else has ended its wait, notes the hour.
  void wait(int hours) {
    promises_.emplace_back(Promise<void>(&pool_));
    detail::schedule_call(pool_, [this, hours, future = promises_.back()->future()]() mutable noexcept {
      if (!future.wait_until(in_hours(hours))) late_.push_back(hours);
      ++ended_;
    });
    step();
  }
  /// What a task waits for is there.
  void give(std::size_t number) {
    if (auto promise = std::exchange(promises_[number], std::nullopt)) promise->set();
  }
  void step() {
    for (int count = 0; count < 200; ++count) stepper_.step();
  }
  std::vector<int> take_late() {
    step();
    return std::exchange(late_, {});
  }

  const Time begin_ = std::chrono::steady_clock::now();
  NoBackground background_;
  Stepper stepper_{3};
  WorkerPool pool_{1, std::size_t{128} << 10, background_, nullptr, &stepper_};
  std::vector<std::optional<Promise<void>>> promises_;
  std::vector<int> late_;
  std::size_t ended_ = 0;
};

TEST_F(DeadlinesOfTasks, EndTheWaitsWhoseTimeHasCome) {
  Timers& timers = pool_.timers();
  EXPECT_EQ(timers.next(), Timers::kNever);
  wait(2);
  wait(1);
  wait(3);
  wait(1);
  EXPECT_EQ(timers.next(), ns_of(1));
  EXPECT_FALSE(timers.fire(ns_of(1) - 1));
  EXPECT_TRUE(take_late().empty());
  EXPECT_TRUE(timers.fire(ns_of(1)));
  EXPECT_EQ(timers.next(), ns_of(2)) << "those that have ended their waits are no deadline any more";
  EXPECT_FALSE(timers.fire(ns_of(1))) << "each once";
  EXPECT_EQ(take_late(), (std::vector{1, 1}));
  EXPECT_EQ(timers.next(), ns_of(2));
  EXPECT_TRUE(timers.fire(ns_of(2) + 1));
  EXPECT_EQ(take_late(), std::vector{2});
  EXPECT_EQ(timers.next(), ns_of(3));
  give(2);
  EXPECT_TRUE(take_late().empty()) << "what it waits for has come";
  EXPECT_EQ(timers.next(), Timers::kNever);
  EXPECT_FALSE(timers.fire(ns_of(5)));
}

TEST_F(DeadlinesOfTasks, MeetWaitsThatHaveEnded) {
  Timers& timers = pool_.timers();
  wait(1);
  wait(2);
  give(0);
  EXPECT_TRUE(timers.fire(ns_of(3))) << "the other one has not ended";
  EXPECT_EQ(take_late(), std::vector{2});
  EXPECT_EQ(timers.next(), Timers::kNever);
}

}  // namespace
}  // namespace weft::parcel
