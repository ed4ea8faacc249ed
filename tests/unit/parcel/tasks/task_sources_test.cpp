// Where a worker finds its next task, and in which order.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "parcel/tasks/worker_pool.hpp"
#include "unit/parcel/tasks/background_doubles.hpp"

namespace weft::parcel {
namespace {

/// Of a pool of three workers that has not been started: no thread takes anything.
class SourcesOfTasks : public testing::Test {
 protected:
  static constexpr SpawnOptions kLow{Priority::low, -1};
  static constexpr SpawnOptions kHigh{Priority::high, -1};

  Worker& worker(unsigned number) { return sources_.worker(number); }
  Task* task(std::size_t number) { return &tasks_[number]; }
  std::vector<Task*> find_all(Worker& of) {
    std::vector<Task*> found;
    while (Task* const each = sources_.find(of)) found.push_back(each);
    return found;
  }

  NoBackground background_;
  WorkerPool pool_{3, std::size_t{64} << 10, background_, nullptr};
  TaskSources& sources_ = pool_.sources();
  std::vector<Task> tasks_ = std::vector<Task>(12, Task([](Task&) noexcept {}));
};

TEST_F(SourcesOfTasks, HaveAnOrder) {
  sources_.push(*task(6), kLow, nullptr);
  sources_.held_back.push(*task(5));
  worker(1).deque.push(task(4));
  sources_.push_from_outside(*task(3));
  sources_.push(*task(2), {Priority::normal, 0}, nullptr);
  worker(0).deque.push(task(1));
  sources_.push(*task(0), kHigh, nullptr);
  std::vector<Task*> expected;
  for (std::size_t number = 0; number < 7; ++number) expected.push_back(task(number));
  EXPECT_EQ(find_all(worker(0)), expected);
  EXPECT_FALSE(sources_.has_task());
}

TEST_F(SourcesOfTasks, OfAWorkerAreLastInFirstOutAndForOthersTheOldestFirst) {
  for (std::size_t number = 0; number < 4; ++number) worker(0).deque.push(task(number));
  EXPECT_EQ(sources_.find(worker(0)), task(3));
  EXPECT_EQ(sources_.find(worker(1)), task(0));
  EXPECT_EQ(sources_.find(worker(2)), task(1));
  EXPECT_EQ(sources_.counts().stolen, 2U);
}

TEST_F(SourcesOfTasks, AreStolenFromAllOthersAndNotFromItself) {
  worker(0).deque.push(task(0));
  worker(0).given.push(*task(1));
  EXPECT_EQ(sources_.steal_for(worker(0)), nullptr);
  EXPECT_EQ(sources_.counts().stolen, 0U);
  worker(1).deque.push(task(2));
  worker(1).given.push(*task(3));
  worker(2).given.push(*task(4));
  std::set<Task*> stolen;
  while (Task* const each = sources_.steal_for(worker(0))) stolen.insert(each);
  EXPECT_EQ(stolen, (std::set{task(2), task(3), task(4)}));
  EXPECT_EQ(worker(0).stolen, 3U);
}

TEST_F(SourcesOfTasks, AreStolenFromOneAndThenFromAnother) {
  for (std::size_t number = 0; number < 6; ++number) worker(number < 3 ? 1 : 2).deque.push(task(number));
  std::set<std::size_t> first_victims;
  for (int count = 0; count < 3; ++count) {
    Task* const stolen = sources_.steal_for(worker(0));
    first_victims.insert(static_cast<std::size_t>(stolen - task(0)) / 3);
  }
  EXPECT_FALSE(first_victims.empty());
  EXPECT_FALSE(worker(1).random == worker(2).random) << "workers do not all begin with the same one";
}

// A worker that always has tasks of its own looks at each of the other sources now and then.
TEST_F(SourcesOfTasks, HaveTheirTurnsWithABusyWorker) {
  const auto fill = [this] {
    worker(0).deque.push(task(0));
    worker(0).deque.push(task(1));
    worker(0).given.push(*task(2));
    sources_.injected.push(*task(3));
    sources_.held_back.push(*task(4));
    worker(1).deque.push(task(5));
    sources_.low.push(*task(6));
  };
  fill();
  std::set<Task*> oldest;
  for (int count = 0; count < 6; ++count) {
    worker(0).takes_oldest = true;
    oldest.insert(sources_.find(worker(0)));
    EXPECT_FALSE(worker(0).takes_oldest);
  }
  EXPECT_EQ(oldest, (std::set{task(0), task(2), task(3), task(4), task(5), task(6)}));
  worker(0).takes_oldest = true;
  EXPECT_EQ(sources_.find(worker(0)), task(1)) << "the only one that is left, wherever it is";
  worker(0).takes_oldest = true;
  EXPECT_EQ(sources_.find(worker(0)), nullptr);
}

TEST_F(SourcesOfTasks, AreSeenWhereverTheyAre) {
  EXPECT_FALSE(sources_.has_task());
  const auto expect_seen = [this](bool is_of_a_worker) {
    EXPECT_TRUE(sources_.has_task());
    EXPECT_EQ(sources_.have_workers_a_task(), is_of_a_worker);
    EXPECT_EQ(sources_.find(worker(2)), task(0));
    EXPECT_FALSE(sources_.has_task());
  };
  sources_.injected.push(*task(0));
  expect_seen(false);
  sources_.urgent.push(*task(0));
  expect_seen(false);
  sources_.low.push(*task(0));
  expect_seen(false);
  sources_.held_back.push(*task(0));
  expect_seen(false);
  worker(0).deque.push(task(0));
  expect_seen(true);
  worker(1).given.push(*task(0));
  expect_seen(true);
}

TEST_F(SourcesOfTasks, OfAHintAreThatWorkers) {
  for (const int hint : {0, 1, 2, 4}) {
    sources_.push(*task(0), {Priority::normal, hint}, nullptr);
    EXPECT_EQ(worker(static_cast<unsigned>(hint) % 3).given.take(), task(0)) << hint;
  }
}

TEST_F(SourcesOfTasks, CountWhatWasMadeAndHasEnded) {
  sources_.push(*task(0), kLow, &worker(1));
  sources_.push(*task(1), kHigh, nullptr);
  sources_.push_from_outside(*task(2));
  EXPECT_EQ(worker(1).made, 1U);
  add_alone(worker(2).finished);
  add_alone(worker(0).parks);
  add_alone(worker(1).parks);
  const TaskCounts counts = sources_.counts();
  EXPECT_EQ(counts.made, 3U);
  EXPECT_EQ(counts.finished, 1U);
  EXPECT_EQ(counts.stolen, 0U);
  EXPECT_EQ(counts.parks, 2U);
}

TEST_F(SourcesOfTasks, AreAllFoundUnderAStepper) {
  Stepper stepper(5);
  for (int round = 0; round < 20; ++round) {
    worker(0).deque.push(task(0));
    worker(0).deque.push(task(1));
    worker(0).given.push(*task(2));
    sources_.injected.push(*task(3));
    sources_.urgent.push(*task(4));
    sources_.low.push(*task(5));
    worker(1).deque.push(task(6));
    std::set<Task*> found;
    for (int tries = 0; tries < 200 && found.size() < 7; ++tries)
      if (Task* const each = sources_.find_any(worker(0), stepper); each != nullptr) found.insert(each);
    EXPECT_EQ(found.size(), 7U);
    EXPECT_EQ(sources_.find_any(worker(0), stepper), nullptr);
  }
}

}  // namespace
}  // namespace weft::parcel
