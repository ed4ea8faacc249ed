// Forced schedules of a session's credits and of its staging: of what threads that deliver, the thread that
// returns credit and the courier share, over a model of weak memory.
#include "network/session/courier/call_bell.hpp"
#include "network/session/courier/serial_gate.hpp"
#include "network/session/courier/staging_state.hpp"
#include "network/session/pacing/due_credit.hpp"
#include "support/schedules.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace weft {
namespace {

namespace model = test::model;
using model::Cell;
using model::Schedule;

using Taken = network::session::BasicTakenMessages<model::Atomic>;
using DueCredit = network::session::BasicDueCredit<model::Atomic>;
using StagingState = network::session::BasicStagingState<model::Atomic>;
using Gate = network::session::BasicSerialGate<model::Atomic, model::Threads>;
using Bell = network::session::BasicCallBell<model::Atomic, model::Threads>;

constexpr std::uint32_t kBatch = 2;

/// A device of two lanes: in each a thread takes messages; a third returns credit as serve_links() does.
struct Lanes {
  std::array<Taken, 2> taken;
  DueCredit credit;

  void deliver(std::size_t lane, std::uint32_t frames) {
    for (std::uint32_t frame = 0; frame < frames; ++frame) {
      taken[lane].add(1, 3);
      credit.note(taken[lane].unreported() >= kBatch);
    }
  }
  /// `all`: not only batches. `is_refused`: the network has no room now.
  void serve(bool all, bool is_refused) {
    needs_service = credit.take_due() || needs_service;
    if (!needs_service && !all) return;
    if (all) credit.begin_to_report_all();
    bool is_left = false;
    for (Taken& lane : taken) {
      if (lane.unreported() < (all ? 1 : kBatch)) continue;
      const std::uint32_t whole = lane.whole();
      if (is_refused)
        is_left = true;
      else
        lane.report(whole);
    }
    needs_service = is_left;
    if (all && is_left) credit.owe_again();
  }

  bool needs_service = false;
};

// However deliveries and returns meet, whoever looks afterwards finds what has not been told.
void nothing_taken_is_forgotten(Schedule& schedule) {
  Lanes lanes;
  schedule.run({[&] { lanes.deliver(0, 5); }, [&] { lanes.deliver(1, 4); },
                [&] {
                  for (int round = 0; round < 8; ++round)
                    lanes.serve(round % 3 == 2, schedule.choose(4) == 0);
                }});
  for (const Taken& lane : lanes.taken) {
    if (lane.unreported() != 0 && !lanes.credit.is_owed())
      schedule.report("credit is owed, and nobody is told to return it");
    if (lane.unreported() >= kBatch && !lanes.credit.is_due() && !lanes.needs_service)
      schedule.report("a batch of credit is due, and nobody looks for it");
  }
  // When everything has ended one more look returns the rest.
  lanes.serve(true, false);
  if (lanes.taken[0].reported() != 5 || lanes.taken[1].reported() != 4 || lanes.credit.is_owed())
    schedule.report("the last look has not told of everything");
  if (lanes.taken[0].messages() != 15 || lanes.taken[1].messages() != 12)
    schedule.report("messages are counted wrongly");
}

TEST(CreditSchedules, whatever_has_been_taken_is_returned) {
  WEFT_NEEDS_FIBERS();
  model::expect_sound(nothing_taken_is_forgotten);
}

/// The lanes' two threads wait for their peer, which sends no more than the credit that it has been told of.
void a_window_never_stalls(Schedule& schedule) {
  Lanes lanes;
  constexpr std::uint32_t kWindow = 2 * kBatch;
  constexpr std::uint32_t kFrames = 9;
  model::Atomic<std::uint32_t> sent{0};
  schedule.run({[&] {  // what the peer has been told, it has: told() stands for the credit's message
                  for (std::uint32_t count = 0; count < kFrames; ++count) {
                    while (count - lanes.taken[0].reported() >= kWindow) {
                    }
                    sent.store(count + 1, std::memory_order_release);
                  }
                },
                [&] {
                  for (std::uint32_t count = 0; count < kFrames;)
                    if (sent.load(std::memory_order_acquire) > count) lanes.deliver(0, 1), ++count;
                },
                [&] {
                  while (lanes.taken[0].whole() < kFrames) lanes.serve(false, false);
                }});
}

TEST(CreditSchedules, a_peer_without_credit_gets_it_by_batches_alone) {
  WEFT_NEEDS_FIBERS();
  EXPECT_EQ(model::explore(model::kSchedules / 3, model::Weaken::nothing, a_window_never_stalls), "");
}

/// A device whose program stages and then does nothing more, and its courier.
struct Staging {
  static constexpr int kMessages = 4;

  StagingState state;
  Gate gate;
  Bell bell;
  Cell<int> staged{0};
  Cell<int> sent{0};

  [[nodiscard]] std::uint64_t round() const { return state.round(); }
  /// With the device entered, as flush_links() does.
  void flush() {
    state.end_round();
    sent = sent + staged;
    staged = 0;
    state.end();
  }
  void stage(bool polls) {
    while (!gate.enter()) {
    }
    staged = staged + 1;
    state.begin();
    if (bell.is_asleep()) bell.end_sleep([](model::Atomic<std::uint32_t>&) {});
    if (polls) flush();
    gate.leave();
  }
  void carry() {
    if (!gate.try_visit()) return;
    flush();
    gate.end_visit();
  }
};

// The courier sleeps only while nothing is staged, and otherwise carries what the program neglects.
void what_is_staged_leaves(Schedule& schedule) {
  Staging device;
  model::Atomic<int> done{0};  // raised by the courier when everything has left
  schedule.run({[&] {
                  for (int message = 0; message < Staging::kMessages; ++message)
                    device.stage(schedule.choose(3) == 0);
                },
                [&] {
                  network::session::LastLook last_look;
                  for (int left = Staging::kMessages; left > 0;) {
                    if (device.state.is_staging()) {
                      last_look.look(device, [&] { device.carry(); });
                    } else {
                      device.bell.sleep([&] { return device.state.is_staging() || left == 0; },
                                        [&](model::Atomic<std::uint32_t>&) {
                                          if (device.gate.try_visit()) {
                                            left = Staging::kMessages - device.sent;
                                            device.gate.end_visit();
                                          }
                                          // Nobody calls any more when everything has left.
                                          if (left == 0) device.bell.end_sleep([](auto&) {});
                                        });
                    }
                    if (!device.gate.try_visit()) continue;
                    left = Staging::kMessages - device.sent;
                    device.gate.end_visit();
                  }
                  done.store(1, std::memory_order_release);
                }});
  if (device.sent != Staging::kMessages && schedule.violation().empty())
    schedule.report("a message that was staged has not left");
}

TEST(StagingSchedules, what_is_staged_leaves_without_a_further_call) {
  WEFT_NEEDS_FIBERS();
  model::expect_sound(what_is_staged_leaves);
  model::expect_barrier_is_needed(what_is_staged_leaves);
}

}  // namespace
}  // namespace weft
