// Forced schedules of the hand-over of a task that waits: its stack goes on once, not before it was left,
// and sees what was done before the event.

#include "support/schedules.hpp"

#include <weft/parcel/detail/wait_state.hpp>

#include <gtest/gtest.h>

namespace weft {
namespace {

namespace model = test::model;
using model::Schedule;

using State = parcel::detail::WaitState<model::Atomic>;

struct Task {
  explicit Task(Schedule& which) : schedule(which) {}
  void resume() {
    if (++resumed > 1) schedule.report("the stack went on twice");
    if (stack != 1) schedule.report("the stack went on before it was left");
    if (event == 1) has_seen_event = true;
  }
  Schedule& schedule;
  State state;
  model::Cell<int> stack{0};  // what the task has left on it
  model::Cell<int> event{0};  // what has happened before notify()
  int resumed = 0;
  bool has_seen_event = false;
};

void leave(Task& task) {
  task.stack = 1;
  if (task.state.publish()) task.resume();
}
void notify(Task& task) {
  task.event = 1;
  if (task.state.notify()) task.resume();
}

void event_only(Schedule& schedule) {
  Task task(schedule);
  schedule.run({[&] { leave(task); }, [&] { notify(task); }});
  if (task.resumed != 1) schedule.report("the wake-up was lost");
  if (!task.has_seen_event) schedule.report("the event was not seen");
}

TEST(WaitStateSchedules, AnEventEndsTheWaitOnce) {
  WEFT_NEEDS_FIBERS();
  model::expect_sound(event_only);
}

void event_and_deadline(Schedule& schedule) {
  Task task(schedule);
  schedule.run({[&] { leave(task); },
                [&] {
                  if (task.state.notify() && ++task.resumed > 1) schedule.report("the stack went on twice");
                },
                [&] {
                  for (int look = 0; look < 3; ++look) {
                    const State::Expiry expiry = task.state.expire();
                    if (expiry == State::Expiry::ended && ++task.resumed > 1)
                      schedule.report("the stack went on twice");
                    if (expiry != State::Expiry::early) break;
                  }
                }});
  if (task.resumed != 1) schedule.report("the wake-up was lost");
}

TEST(WaitStateSchedules, ADeadlineAndAnEventEndItOnce) {
  WEFT_NEEDS_FIBERS();
  EXPECT_EQ(model::explore(model::kSchedules, model::Weaken::nothing, event_and_deadline), "");
}

}  // namespace
}  // namespace weft
