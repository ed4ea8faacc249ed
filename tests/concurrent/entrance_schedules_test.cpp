// Forced schedules of the entrance over a model of weak memory, as in schedules_test.cpp.
#include "concurrent/entrance.hpp"
#include "support/schedules.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

namespace model = test::model;
using model::Cell;
using model::expect_sound;
using model::Schedule;
using model::Weaken;

TEST(Entrance, is_left_by_all_before_what_they_use_is_destroyed_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_sound([](Schedule& schedule) {
    concurrent::Entrance<model::Atomic> entrance;
    model::Atomic<bool> open{true};
    Cell<int> object{1};
    Cell<int> visitors{0};
    const auto visit = [&](std::uint32_t thread) {
      for (int round = 0; round < 4; ++round) {
        if (!entrance.enter(thread)) continue;
        visitors = visitors + 1;
        if (open.load(std::memory_order_relaxed) && object != 1)
          schedule.report("an object is used after its end");
        entrance.leave();
      }
    };
    schedule.run({[&] { visit(0); }, [&] { visit(1); },
                  [&] {
                    open.store(false, std::memory_order_relaxed);
                    schedule.barrier();
                    entrance.await_exit(2);
                    object = 0;
                  }});
  });
}

TEST(Entrance, needs_no_lock_where_one_thread_enters_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_sound([](Schedule& schedule) {
    concurrent::Entrance<model::Atomic> entrance;
    model::Atomic<bool> open{true};
    Cell<int> object{1};
    schedule.run({[&] {
                    for (int round = 0; round < 6; ++round) {
                      entrance.enter_alone(0);
                      if (open.load(std::memory_order_relaxed) && object != 1)
                        schedule.report("an object is used after its end");
                      entrance.leave();
                    }
                  },
                  [&] {
                    open.store(false, std::memory_order_relaxed);
                    schedule.barrier();
                    entrance.await_exit(1);
                    object = 0;
                  }});
  });
}

TEST(Entrance, lets_nobody_in_once_it_is_closed) {
  WEFT_NEEDS_FIBERS();
  Schedule schedule(1, Weaken::nothing);
  concurrent::Entrance<model::Atomic> entrance;
  ASSERT_TRUE(entrance.enter(0));
  entrance.close();
  EXPECT_TRUE(entrance.closed());
  entrance.leave();
  EXPECT_FALSE(entrance.enter(0));
  EXPECT_FALSE(entrance.enter(1));
  entrance.await_exit(1);  // returns
}

}  // namespace
}  // namespace weft
