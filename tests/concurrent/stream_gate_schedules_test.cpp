// Forced schedules of the gate of a stream over a model of weak memory, as in schedules_test.cpp.
#include "stream/attendance.hpp"
#include "stream/queue_turn.hpp"
#include "support/schedules.hpp"

#include <weft/detail/stream_gate.hpp>

#include <gtest/gtest.h>

namespace weft {
namespace {

namespace model = test::model;
using model::Cell;
using model::expect_sound;
using model::Schedule;

using ModelGate = detail::BasicStreamGate<model::Atomic, model::Threads>;

/// What a stream guards: two threads inside at a time are noticed, and so is what the next one does not see.
struct Guarded {
  static constexpr bool shared = false;
  ModelGate gate;
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
  /// As StreamRegistry::attend() does.
  bool attend(Schedule& schedule) {
    stream::Attendance<model::Threads, Guarded, 1> attendance;
    attendance.take(*this);
    return attendance.finish([&](Guarded& guarded) {
      guarded.use(schedule);
      return std::size_t{1};
    }) != 0;
  }
};

void user_and_attendants(Schedule& schedule) {
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
}

TEST(StreamGate, lets_its_user_or_one_attendant_in_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_sound(user_and_attendants);
  model::expect_barrier_is_needed(user_and_attendants);
}

/// Waits by trying again, as nobody else can.
class TryMutex {
 public:
  void lock() {
    while (!try_lock()) {
    }
  }
  bool try_lock() {
    std::uint32_t free = 0;
    return word_.compare_exchange_strong(free, 1, std::memory_order_acquire);
  }
  void unlock() { word_.store(0, std::memory_order_release); }

 private:
  model::Atomic<std::uint32_t> word_{0};
};

/// A stream with a queue: its user, the queue's thread, and who attends.
struct WithQueue : Guarded {
  using Turn = stream::BasicQueueTurn<model::Atomic, model::Threads, TryMutex>;
  Turn turn;
  model::Atomic<int> pushed{0};
  static constexpr std::uintptr_t kQueueMark = 64 * 3;  // model::Threads::mark() of the second thread

  /// As EnqueueProxy::push().
  void push(Schedule& schedule) {
    if (turn.begin(gate, kQueueMark) != Turn::Begun::yes)
      schedule.report("the queue did not get the free stream");
    pushed.fetch_add(1, std::memory_order_release);
  }
  /// As the queue's thread: carries one operation out, and then needs the stream a little longer.
  void carry_out(Schedule& schedule, int number) {
    while (pushed.load(std::memory_order_acquire) <= number) {
    }
    use(schedule);
    turn.set_settled(false);
    turn.end(1);
    use(schedule);
    turn.set_settled(true);
  }
  /// As StreamAccess::enter_slow(), but where it throws, it waits.
  void own_in_turn(Schedule& schedule) {
    for (;;) {
      const detail::GateEntry found = gate.enter();
      if (found == detail::GateEntry::entered) break;
      if (found != detail::GateEntry::contended) schedule.report("another user is inside");
      if (turn.is_owned()) static_cast<void>(turn.release(gate));
    }
    use(schedule);
    gate.leave();
  }
  bool attend_in_turn(Schedule& schedule) {
    if (turn.is_owned() && turn.release(gate) != Turn::Released::yes) return false;
    return attend(schedule);
  }
};

void user_queue_and_attendant(Schedule& schedule) {
  WithQueue stream;
  int attended = 0;
  constexpr int kRounds = 2;
  schedule.run({[&] {
                  for (int round = 0; round < kRounds; ++round) {
                    stream.own_in_turn(schedule);
                    stream.push(schedule);
                  }
                },
                [&] {
                  for (int round = 0; round < kRounds; ++round) stream.carry_out(schedule, round);
                },
                [&] {
                  for (int round = 0; round < kRounds; ++round)
                    attended += stream.attend_in_turn(schedule) ? 1 : 0;
                }});
  if (stream.uses != 3 * kRounds + attended) schedule.report("a use is lost");
}

TEST(StreamGate, lets_a_user_a_queue_and_an_attendant_in_one_at_a_time) {
  WEFT_NEEDS_FIBERS();
  expect_sound(user_queue_and_attendant);
  model::expect_barrier_is_needed(user_queue_and_attendant);
}

/// A thread other than the user enqueues: begin() has to see whether the user is inside.
void user_and_foreign_push(Schedule& schedule) {
  WithQueue stream;
  int carried = 0;
  schedule.run({[&] {
                  for (int round = 0; round < 3; ++round) stream.own_in_turn(schedule);
                },
                [&] {
                  for (int round = 0; round < 3; ++round) {
                    if (stream.turn.begin(stream.gate, WithQueue::kQueueMark) != WithQueue::Turn::Begun::yes)
                      continue;
                    stream.use(schedule);
                    ++carried;
                    stream.turn.end(1);
                  }
                }});
  if (stream.uses != 3 + carried) schedule.report("a use is lost");
}

void user_and_operation_that_nobody_announced(Schedule& schedule) {
  WithQueue stream;
  schedule.run({[&] {
                  for (int round = 0; round < 3; ++round) stream.own_in_turn(schedule);
                },
                [&] {
                  for (int round = 0; round < 3; ++round) {
                    stream.turn.take(stream.gate, WithQueue::kQueueMark);
                    stream.use(schedule);
                    stream.turn.end(1);
                  }
                }});
  if (stream.uses != 6) schedule.report("a use is lost");
}

TEST(StreamGate, is_the_queues_only_while_its_user_is_outside) {
  WEFT_NEEDS_FIBERS();
  model::expect_barrier_is_needed(user_and_foreign_push);
  model::expect_barrier_is_needed(user_and_operation_that_nobody_announced);
}

TEST(StreamGate, a_handler_that_an_attendant_runs_may_use_the_stream) {
  WEFT_NEEDS_FIBERS();
  Schedule schedule(1, model::Weaken::nothing);
  ModelGate gate;
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
