// Forced schedules of magazines over a model of weak memory, as in schedules_test.cpp.
#include "concurrent/magazine.hpp"
#include "support/schedules.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace weft {
namespace {

namespace model = test::model;
using model::Cell;
using model::expect_sound;
using model::Schedule;

constexpr int kValues = 4;
constexpr int kMagazineRounds = 4;

using Magazine = concurrent::Magazine<Cell<int>, kValues, model::Atomic, model::Threads>;

/// What the values stand for: two owners at a time are noticed, and so is what the next owner does not see.
struct Things {
  std::array<Cell<int>, kValues> uses;
  std::array<bool, kValues> owned{};
  int all = 0;

  void take(Schedule& schedule, int value) {
    const auto place = static_cast<std::size_t>(value);
    if (owned[place]) schedule.report("a value has two owners");
    owned[place] = true;
    uses[place] = uses[place] + 1;
    ++all;
  }
  void give_up(int value) { owned[static_cast<std::size_t>(value)] = false; }
};

struct Scene {
  Magazine magazine;
  Things things;

  explicit Scene(int filled) {
    for (int value = 0; value < filled; ++value) static_cast<void>(magazine.put(Cell<int>(value), kValues));
  }
  /// Takes one and puts it back, by turns with several at once.
  void own(Schedule& schedule) {
    std::vector<int> taken;
    for (int round = 0; round < kMagazineRounds; ++round) {
      Cell<int> values[kValues];
      if (round % 2 == 0) {
        if (magazine.take(values[0])) taken.push_back(values[0]);
      } else {
        const std::uint32_t count = magazine.drain(1, values);
        for (std::uint32_t place = 0; place < count; ++place) taken.push_back(values[place]);
      }
      for (const int value : taken) things.take(schedule, value);
      for (const int value : taken) things.give_up(value);
      std::erase_if(taken, [&](int value) { return magazine.put(Cell<int>(value), kValues); });
    }
  }
  void empty(Schedule& schedule) {
    Cell<int> values[kValues];
    const std::uint32_t count = magazine.take_all(values);
    for (std::uint32_t place = 0; place < count; ++place) things.take(schedule, values[place]);
  }
  void check(Schedule& schedule) {
    int uses = 0;
    for (const Cell<int>& each : things.uses) uses += each;
    if (uses != things.all) schedule.report("a use is lost");
  }
};

TEST(Magazine, gives_each_value_to_one_thread_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_sound([](Schedule& schedule) {
    Scene scene(kValues);
    schedule.run(
        {[&] { scene.own(schedule); }, [&] { scene.empty(schedule); }, [&] { scene.empty(schedule); }});
    scene.check(schedule);
  });
}

TEST(Magazine, of_an_idle_owner_is_emptied_by_whoever_comes_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  EXPECT_EQ(model::explore(model::kSchedules, model::Weaken::nothing,
                           [](Schedule& schedule) {
                             Scene scene(kValues);
                             schedule.run({[&] { scene.empty(schedule); }, [&] { scene.empty(schedule); }});
                             scene.empty(schedule);  // a second one may have found the first at it
                             for (const bool is_owned : scene.things.owned)
                               if (!is_owned) schedule.report("a value was not found");
                           }),
            "");
}

/// Threads whose barrier does nothing.
struct Unfenced : model::Threads {
  static void barrier() {}
};

TEST(Magazine, needs_its_barrier) {
  WEFT_NEEDS_FIBERS();
  using Broken = concurrent::Magazine<Cell<int>, kValues, model::Atomic, Unfenced>;
  EXPECT_NE(model::explore(model::kSchedules, model::Weaken::nothing,
                           [](Schedule& schedule) {
                             Broken magazine;
                             Things things;
                             for (int value = 0; value < kValues; ++value)
                               static_cast<void>(magazine.put(Cell<int>(value), kValues));
                             schedule.run({[&] {
                                             Cell<int> value;
                                             for (int round = 0; round < kMagazineRounds; ++round)
                                               if (magazine.take(value)) things.take(schedule, value);
                                           },
                                           [&] {
                                             Cell<int> values[kValues];
                                             const std::uint32_t count = magazine.take_all(values);
                                             for (std::uint32_t place = 0; place < count; ++place)
                                               things.take(schedule, values[place]);
                                           }});
                           }),
            "");
}

}  // namespace
}  // namespace weft
