// Forced schedules of workers that go to sleep while others wake them: each wake-up that comes after a look
// ends, or prevents, the sleep that follows, whoever else has looked meanwhile.

#include "support/schedules.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include <weft/parcel/ports/wake_count.hpp>

namespace weft {
namespace {

namespace model = test::model;
using model::Schedule;
using Wakes = parcel::WakeCount<model::Atomic>;

struct Sleeper {
  std::uint64_t seen = 0;
  bool sleeps = false;

  [[nodiscard]] bool is_asleep(const Wakes& wakes) const { return sleeps && !wakes.has_come(seen); }
};

void a_task_comes(Schedule& schedule) {
  Wakes wakes;
  model::Atomic<int> has_task{0};
  Sleeper first;
  Sleeper second;
  const auto rest = [&](Sleeper& own) {
    own.seen = wakes.look();
    if (has_task.load(std::memory_order_relaxed) == 0) own.sleeps = wakes.announce(own.seen);
  };
  schedule.run({[&] { rest(first); }, [&] { rest(second); },
                [&] {
                  has_task.store(1, std::memory_order_relaxed);
                  wakes.wake();
                }});
  if (first.is_asleep(wakes) || second.is_asleep(wakes))
    schedule.report("a worker sleeps though it was woken after its look");
}

TEST(WakeCountSchedules, AWakeUpAfterTheLookIsHeardByAll) {
  WEFT_NEEDS_FIBERS();
  model::expect_sound(a_task_comes);
}

void messages_come(Schedule& schedule) {
  Wakes wakes;
  model::Atomic<int> announced{0};
  std::array<Sleeper, 2> sleepers;
  int known = 0;
  const auto rest = [&](Sleeper& own, int bit) {
    own.seen = wakes.look();
    own.sleeps = wakes.announce(own.seen);
    announced.fetch_or(bit, std::memory_order_acq_rel);
  };
  schedule.run({[&] { rest(sleepers[0], 1); }, [&] { rest(sleepers[1], 2); },
                [&] { static_cast<void>(wakes.wake_sleepers()); },
                [&] {
                  known = announced.load(std::memory_order_acquire);
                  static_cast<void>(wakes.wake_sleepers());
                }});
  for (std::size_t number = 0; number < sleepers.size(); ++number)
    if ((known & (1 << number)) != 0 && sleepers[number].is_asleep(wakes))
      schedule.report("a worker sleeps though it was woken after it had announced that");
}

TEST(WakeCountSchedules, WhoHasAnnouncedASleepHearsASignal) {
  WEFT_NEEDS_FIBERS();
  EXPECT_EQ(model::explore(model::kSchedules, model::Weaken::nothing, messages_come), "");
}

TEST(WakeCount, EachSleeperComparesWithItsOwnLook) {
  parcel::WakeCount<> wakes;
  const std::uint64_t early = wakes.look();
  EXPECT_FALSE(wakes.wake_sleepers()) << "nobody has announced a sleep";
  EXPECT_TRUE(wakes.announce(early));
  EXPECT_TRUE(wakes.announce(early)) << "two may sleep";
  EXPECT_FALSE(wakes.has_come(early));
  EXPECT_TRUE(wakes.wake_sleepers());
  EXPECT_FALSE(wakes.wake_sleepers()) << "nobody sleeps any more";
  const std::uint64_t late = wakes.look();
  EXPECT_TRUE(wakes.announce(late));
  EXPECT_TRUE(wakes.has_come(early)) << "another sleeper has taken the wake-up";
  EXPECT_FALSE(wakes.announce(early));
  EXPECT_FALSE(wakes.has_come(late));
}

}  // namespace
}  // namespace weft
