// Forced schedules of biased try-locks over a model of weak memory, as in schedules_test.cpp.
#include "support/schedules.hpp"

#include <weft/detail/bias.hpp>

#include <gtest/gtest.h>

namespace weft {
namespace {

namespace model = test::model;
using model::Cell;
using model::expect_sound;
using model::Schedule;
using model::Weaken;

using Bias = detail::BasicBias<model::Atomic, model::Threads>;
using Word = model::Atomic<std::uint32_t>;
constexpr int kEnoughToOwn = 70;

/// What a lock guards: two threads inside at a time are noticed, and so is what the next one does not see.
struct Guarded {
  Word word{0};
  Cell<int> uses{0};
  bool somebody_inside = false;

  bool use(Schedule& schedule, Bias& bias) {
    auto* const hold = bias.acquire(word);
    if (hold == nullptr) return false;
    if (somebody_inside) schedule.report("two threads are inside");
    somebody_inside = true;
    uses = uses + 1;
    somebody_inside = false;
    Bias::release(hold);
    return true;
  }
};

TEST(Bias, lets_one_thread_in_at_a_time_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_sound([](Schedule& schedule) {
    Bias bias;
    Guarded guarded;
    int uses[3] = {};
    const auto own = [&] {
      for (int round = 0; round < kEnoughToOwn + 6; ++round) uses[0] += guarded.use(schedule, bias) ? 1 : 0;
    };
    const auto disturb = [&](int thread) {
      for (int round = 0; round < 6; ++round) uses[thread] += guarded.use(schedule, bias) ? 1 : 0;
    };
    schedule.run({own, [&] { disturb(1); }, [&] { disturb(2); }});
    if (guarded.uses != uses[0] + uses[1] + uses[2]) schedule.report("a use is lost");
  });
}

TEST(Bias, of_an_owner_is_taken_away_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  bool owned = false;
  expect_sound([&](Schedule& schedule) {
    Bias bias;
    Guarded guarded;
    model::Atomic<bool> ready{false};
    int uses[3] = {};
    const auto disturb = [&](int thread) {
      while (!ready.load(std::memory_order_acquire)) {
      }
      for (int round = 0; round < 8; ++round) uses[thread] += guarded.use(schedule, bias) ? 1 : 0;
    };
    schedule.run({[&] {
                    for (int round = 0; round < kEnoughToOwn; ++round)
                      uses[0] += guarded.use(schedule, bias) ? 1 : 0;
                    auto* const hold = bias.acquire(guarded.word);
                    owned = owned || (hold != nullptr && hold != &guarded.word);
                    if (hold != nullptr) Bias::release(hold);
                    ready.store(true, std::memory_order_release);
                    for (int round = 0; round < 8; ++round) uses[0] += guarded.use(schedule, bias) ? 1 : 0;
                  },
                  [&] { disturb(1); }, [&] { disturb(2); }});
    if (guarded.uses != uses[0] + uses[1] + uses[2]) schedule.report("a use is lost");
    auto* const hold = bias.acquire(guarded.word);
    if (uses[1] + uses[2] != 0 && hold != &guarded.word) schedule.report("a bias outlives the second thread");
  });
  EXPECT_TRUE(owned) << "no schedule has made a thread the owner";
}

TEST(Bias, stands_for_many_words_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_sound([](Schedule& schedule) {
    Bias bias;
    Guarded guarded[2];
    const auto use = [&](int rounds) {
      for (int round = 0; round < rounds; ++round) static_cast<void>(guarded[round % 2].use(schedule, bias));
    };
    schedule.run({[&] { use(kEnoughToOwn + 8); }, [&] { use(8); }, [&] { use(8); }});
  });
}

TEST(Bias, is_nobodys_where_threads_take_turns) {
  WEFT_NEEDS_FIBERS();
  Schedule schedule(1, Weaken::nothing);
  Bias bias;
  Guarded guarded;
  for (int turn = 0; turn < 100; ++turn)
    schedule.run({[&] { static_cast<void>(guarded.use(schedule, bias)); },
                  [&] { static_cast<void>(guarded.use(schedule, bias)); }});
  for (int round = 0; round < 2 * kEnoughToOwn; ++round) {
    auto* const hold = bias.acquire(guarded.word);
    ASSERT_EQ(hold, &guarded.word);
    Bias::release(hold);
  }
  EXPECT_EQ(schedule.violation(), "");
}

}  // namespace
}  // namespace weft
