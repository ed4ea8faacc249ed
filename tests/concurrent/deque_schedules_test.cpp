// Forced schedules of the deque that workers steal from: every task is taken once, and seen whole, however
// the accesses of its owner and of thieves are interleaved.
#include "support/schedules.hpp"

#include "parcel/tasks/steal_deque.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace weft {
namespace {

namespace model = test::model;
using model::Schedule;
using model::Weaken;

constexpr int kItems = 5;

struct Item {
  model::Cell<int> number;  // written by the owner before the push
  int taken = 0;
};

/// An owner that pushes and pops, with a ring of two that has to grow, and two thieves.
void scenario(Schedule& schedule) {
  std::array<Item, kItems> items;
  parcel::StealDeque<Item, model::Atomic> deque(2);
  const auto take = [&](Item* item) {
    if (item == nullptr) return;
    if (++item->taken > 1) schedule.report("an item was taken twice");
    const int number = item->number;
    if (number != static_cast<int>(item - items.data()) + 1) schedule.report("an item was not whole");
  };
  const auto thief = [&] {
    for (int attempt = 0; attempt < 3; ++attempt) take(deque.steal());
  };
  schedule.run({[&] {
                  for (int index = 0; index < kItems; ++index) {
                    items[static_cast<std::size_t>(index)].number = index + 1;
                    deque.push(&items[static_cast<std::size_t>(index)]);
                    if (index % 2 == 1) take(deque.pop());
                  }
                  take(deque.pop());
                },
                thief, thief});
  while (Item* const left = deque.pop()) take(left);
  for (const Item& item : items)
    if (item.taken != 1) schedule.report("an item was lost");
}

TEST(DequeSchedules, EveryItemIsTakenOnce) {
  WEFT_NEEDS_FIBERS();
  EXPECT_EQ(model::explore(20'000, Weaken::nothing, scenario), "");
}

TEST(DequeSchedules, NeedWhatTheyAskOfTheMemoryModel) {
  WEFT_NEEDS_FIBERS();
  EXPECT_NE(model::explore(20'000, Weaken::releases, scenario), "");
  EXPECT_NE(model::explore(20'000, Weaken::acquires, scenario), "");
  // The owner and a thief would both take the last item.
  EXPECT_NE(model::explore(200'000, Weaken::sequential, scenario), "");
}

}  // namespace
}  // namespace weft
