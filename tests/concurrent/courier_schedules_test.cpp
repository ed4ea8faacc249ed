// Forced schedules of what a courier meets its device and its callers by, over a model of weak memory.
#include "network/session/courier/call_bell.hpp"
#include "network/session/courier/serial_gate.hpp"
#include "support/schedules.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

namespace model = test::model;
using model::Cell;
using model::Schedule;

using Gate = network::session::BasicSerialGate<model::Atomic, model::Threads>;
using Bell = network::session::BasicCallBell<model::Atomic, model::Threads>;

struct Device {
  Gate gate;
  Cell<int> uses{0};
  bool somebody_inside = false;

  void use(Schedule& schedule) {
    if (somebody_inside) schedule.report("two threads are inside");
    somebody_inside = true;
    uses = uses + 1;
    somebody_inside = false;
  }
};

void owner_and_visitors(Schedule& schedule) {
  Device device;
  int inside[3] = {};
  const auto visit = [&](int& count) {
    for (int round = 0; round < 4; ++round) {
      if (!device.gate.try_visit()) continue;
      device.use(schedule);
      ++count;
      device.gate.end_visit();
    }
  };
  schedule.run({[&] {
                  for (int round = 0; round < 6; ++round) {
                    if (!device.gate.enter()) continue;
                    device.use(schedule);
                    ++inside[0];
                    device.gate.leave();
                  }
                },
                [&] { visit(inside[1]); }, [&] { visit(inside[2]); }});
  if (device.uses != inside[0] + inside[1] + inside[2]) schedule.report("a use is lost");
}

TEST(SerialGateSchedules, one_thread_is_inside) {
  WEFT_NEEDS_FIBERS();
  model::expect_sound(owner_and_visitors);
  model::expect_barrier_is_needed(owner_and_visitors);
}

/// A thread finds something to do, or is called, or sleeps: never does it sleep while there is something.
void callers_and_sleeper(Schedule& schedule) {
  Bell bell;
  model::Atomic<int> laden{0};
  constexpr int kCalls = 3;
  const auto call = [&] {
    for (int round = 0; round < kCalls; ++round) {
      laden.fetch_add(1, std::memory_order_relaxed);
      if (bell.is_asleep()) bell.end_sleep([](model::Atomic<std::uint32_t>&) {});
    }
  };
  schedule.run({call, call, [&] {
                  // What is there is taken, as a visit does, until everything has come.
                  for (int taken = 0; taken < 2 * kCalls;) {
                    bell.sleep([&] { return laden.load(std::memory_order_relaxed) != taken; },
                               [](model::Atomic<std::uint32_t>&) {});
                    taken = laden.load(std::memory_order_relaxed);
                  }
                }});
}

TEST(CallBellSchedules, no_call_is_lost) {
  WEFT_NEEDS_FIBERS();
  model::expect_barrier_is_needed(callers_and_sleeper);
}

}  // namespace
}  // namespace weft
