// Forced schedules of the lock over a model of weak memory, as in schedules_test.cpp.
#include "concurrent/owned_try_lock.hpp"
#include "support/schedules.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

namespace model = test::model;
using model::Cell;
using model::expect_sound;
using model::Schedule;
using model::Weaken;

TEST(OwnedTryLock, is_left_by_all_before_what_they_use_is_destroyed_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_sound([](Schedule& schedule) {
    concurrent::OwnedTryLock<model::Atomic> lock;
    model::Atomic<bool> open{true};
    Cell<int> object{1};
    Cell<int> visitors{0};
    const auto visit = [&](std::uint32_t thread) {
      for (int round = 0; round < 4; ++round) {
        if (!lock.enter(thread)) continue;
        visitors = visitors + 1;
        if (open.load(std::memory_order_relaxed) && object != 1)
          schedule.report("an object is used after its end");
        lock.leave();
      }
    };
    schedule.run({[&] { visit(0); }, [&] { visit(1); },
                  [&] {
                    open.store(false, std::memory_order_relaxed);
                    schedule.barrier();
                    lock.await_exit(2);
                    object = 0;
                  }});
  });
}

TEST(OwnedTryLock, needs_no_lock_where_one_thread_enters_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_sound([](Schedule& schedule) {
    concurrent::OwnedTryLock<model::Atomic> lock;
    model::Atomic<bool> open{true};
    Cell<int> object{1};
    schedule.run({[&] {
                    for (int round = 0; round < 6; ++round) {
                      lock.enter_alone(0);
                      if (open.load(std::memory_order_relaxed) && object != 1)
                        schedule.report("an object is used after its end");
                      lock.leave();
                    }
                  },
                  [&] {
                    open.store(false, std::memory_order_relaxed);
                    schedule.barrier();
                    lock.await_exit(1);
                    object = 0;
                  }});
  });
}

TEST(OwnedTryLock, lets_nobody_in_once_it_is_closed) {
  WEFT_NEEDS_FIBERS();
  Schedule schedule(1, Weaken::nothing);
  concurrent::OwnedTryLock<model::Atomic> lock;
  ASSERT_TRUE(lock.enter(0));
  lock.close();
  EXPECT_TRUE(lock.closed());
  lock.leave();
  EXPECT_FALSE(lock.enter(0));
  EXPECT_FALSE(lock.enter(1));
  lock.await_exit(1);  // returns
}

}  // namespace
}  // namespace weft
