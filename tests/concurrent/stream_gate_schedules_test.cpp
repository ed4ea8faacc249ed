// Forced schedules of the gate of a stream over a model of weak memory, as in schedules_test.cpp.
#include "support/schedules.hpp"

#include <weft/detail/stream_gate.hpp>

#include <gtest/gtest.h>

namespace weft {
namespace {

namespace model = test::model;
using model::Cell;
using model::expect_sound;
using model::Schedule;

using Gate = detail::BasicStreamGate<model::Atomic, model::Threads>;

/// What a stream guards: two threads inside at a time are noticed, and so is what the next one does not see.
struct Guarded {
  Gate gate;
  Cell<int> uses{0};
  bool somebody_inside = false;

  void use(Schedule& schedule) {
    if (somebody_inside) schedule.report("two threads are inside");
    somebody_inside = true;
    uses = uses + 1;
    somebody_inside = false;
  }
  void own(Schedule& schedule) {
    detail::GateEntry found = gate.enter();
    while (found == detail::GateEntry::contended) found = gate.enter();
    if (found != detail::GateEntry::entered) {
      schedule.report("the only user of the stream was not let in");
      return;
    }
    use(schedule);
    gate.leave();
  }
  bool attend(Schedule& schedule) {
    if (!gate.try_take()) return false;
    model::Threads::barrier();
    const bool is_left = gate.is_left();
    if (is_left) use(schedule);
    gate.give_back();
    return is_left;
  }
};

TEST(StreamGate, lets_its_user_or_one_attendant_in_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_sound([](Schedule& schedule) {
    Guarded guarded;
    int attended[2] = {};
    constexpr int kUses = 4;
    schedule.run({[&] {
                    for (int round = 0; round < kUses; ++round) guarded.own(schedule);
                  },
                  [&] {
                    for (int round = 0; round < 3; ++round) attended[0] += guarded.attend(schedule) ? 1 : 0;
                  },
                  [&] {
                    for (int round = 0; round < 3; ++round) attended[1] += guarded.attend(schedule) ? 1 : 0;
                  }});
    if (guarded.uses != kUses + attended[0] + attended[1]) schedule.report("a use is lost");
  });
}

TEST(StreamGate, a_handler_that_an_attendant_runs_may_use_the_stream) {
  WEFT_NEEDS_FIBERS();
  Schedule schedule(1, model::Weaken::nothing);
  Gate gate;
  schedule.run({[&] {
    EXPECT_TRUE(gate.try_take());
    model::Threads::barrier();
    EXPECT_TRUE(gate.is_left());
    EXPECT_EQ(gate.enter(), detail::GateEntry::nested);
    gate.give_back();
    EXPECT_EQ(gate.enter(), detail::GateEntry::entered);
    EXPECT_EQ(gate.enter(), detail::GateEntry::nested);
    gate.leave();
  }});
}

}  // namespace
}  // namespace weft
