// Forced schedules of the lock-free structures over a model of weak memory. Each structure is also run with
// its releases, and then its acquires, taken away: a model that does not notice would prove nothing.
#include "support/schedules.hpp"
#include "concurrent/index_pool.hpp"
#include "concurrent/mpsc_list.hpp"

#include <weft/detail/lane.hpp>

#include <gtest/gtest.h>

#include <map>

namespace weft {
namespace {

namespace model = test::model;
using model::Cell;
using model::expect_sound;
using model::kSchedules;
using model::Schedule;
using model::Weaken;

TEST(Model, sees_a_message_that_is_passed_without_order) {
  WEFT_NEEDS_FIBERS();
  expect_sound([](Schedule& schedule) {
    Cell<int> data;
    model::Atomic<int> flag{0};
    schedule.run({[&] {
                    data = 1;
                    flag.store(1, std::memory_order_release);
                  },
                  [&] {
                    if (flag.load(std::memory_order_acquire) == 1 && data != 1) schedule.report("old data");
                  }});
  });
}

TEST(Model, lets_loads_see_old_stores) {
  WEFT_NEEDS_FIBERS();
  // Store buffering: both loads may see zero, which no interleaving of newest values can show.
  bool both_zero = false;
  for (std::uint64_t seed = 1; seed <= kSchedules; ++seed) {
    Schedule schedule(seed, Weaken::nothing);
    model::Atomic<int> x{0};
    model::Atomic<int> y{0};
    int first = 1;
    int second = 1;
    schedule.run({[&] {
                    x.store(1, std::memory_order_release);
                    first = y.load(std::memory_order_acquire);
                  },
                  [&] {
                    y.store(1, std::memory_order_release);
                    second = x.load(std::memory_order_acquire);
                  }});
    both_zero = both_zero || (first == 0 && second == 0);
  }
  EXPECT_TRUE(both_zero);
}

TEST(IndexPool, gives_each_index_to_one_owner_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_sound([](Schedule& schedule) {
    concurrent::IndexPool<model::Atomic> pool(2);
    Cell<int> owned[2];
    bool taken[2] = {};
    const auto use = [&] {
      for (int round = 0; round < 4; ++round) {
        const std::uint32_t index = pool.take();
        if (index == pool.kNone) continue;
        if (taken[index]) schedule.report("an index has two owners");
        taken[index] = true;
        owned[index] = owned[index] + 1;
        taken[index] = false;
        pool.put(index);
      }
    };
    schedule.run({use, use, use});
    if (pool.take() == pool.kNone || pool.take() == pool.kNone || pool.take() != pool.kNone)
      schedule.report("an index is lost or there twice");
  });
}

TEST(IndexPool, gives_indices_that_were_never_taken_to_one_owner_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  constexpr std::uint32_t kCount = 5;
  expect_sound([](Schedule& schedule) {
    concurrent::IndexPool<model::Atomic> pool(kCount);
    Cell<int> owned[kCount];
    bool taken[kCount] = {};
    const auto take = [&] {
      const std::uint32_t index = pool.take();
      if (index == pool.kNone) return index;
      if (index >= kCount || taken[index]) schedule.report("an index has two owners");
      taken[index] = true;
      owned[index] = owned[index] + 1;
      return index;
    };
    const auto put = [&](std::uint32_t index) {
      if (index == pool.kNone) return;
      taken[index] = false;
      pool.put(index);
    };
    // Each holds an index while it takes another one, so that some takes meet indices that were put back.
    const auto use = [&] {
      const std::uint32_t first = take();
      for (int round = 0; round < 2; ++round) put(take());
      put(first);
    };
    schedule.run({use, use, use});
    bool rest[kCount] = {};
    for (std::uint32_t count = 0; count < kCount; ++count) {
      const std::uint32_t index = pool.take();
      if (index >= kCount || rest[index]) return schedule.report("an index is lost or there twice");
      rest[index] = true;
    }
    if (pool.take() != pool.kNone) schedule.report("there are more indices than the capacity");
  });
}

TEST(MpscList, hands_over_every_item_once_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  struct Item {
    Cell<Item*> next{nullptr};
    Cell<int> value{0};
  };
  expect_sound([](Schedule& schedule) {
    concurrent::MpscList<Item, model::Atomic> mpsc_list;
    Item items[6];
    std::map<int, int> seen;
    std::map<int, int> last;
    const auto take = [&] {
      for (Item* item = mpsc_list.take_all(); item != nullptr;) {
        const int value = item->value;
        ++seen[value];
        if (value <= last[value / 100]) schedule.report("one thread's items are out of order");
        last[value / 100] = value;
        item = item->next;
      }
    };
    const auto put = [&](int thread) {
      for (int count = 0; count < 3; ++count) {
        Item& item = items[thread * 3 + count];
        item.value = (thread + 1) * 100 + count + 1;
        mpsc_list.put(item);
      }
    };
    schedule.run({[&] { put(0); }, [&] { put(1); },
                  [&] {
                    for (int round = 0; round < 5; ++round) take();
                  }});
    take();
    if (seen.size() != 6) schedule.report("an item is lost");
    for (const auto& [value, count] : seen)
      if (count != 1) schedule.report("an item came twice");
    if (!mpsc_list.empty()) schedule.report("not empty");
  });
}

/// The lane's protocol as detail::try_post_slot and the receiver in src/network/shm follow it: header last
/// and with release, cleared after reading, credit with release a quarter of the ring at a time.
void lane_scenario(Schedule& schedule) {
  constexpr std::uint64_t kSlots = 8;
  constexpr std::uint64_t kMask = kSlots - 1;
  constexpr std::uint64_t kMessages = 20;
  struct Slot {
    model::Atomic<std::uint64_t> header{0};
    Cell<std::uint64_t> payload;
  };
  Slot slots[kSlots];
  model::Atomic<std::uint64_t> credit{0};
  std::uint64_t received = 0;
  schedule.run({[&] {
                  std::uint64_t limit = kMask;
                  for (std::uint64_t tail = 0; tail < kMessages;) {
                    if (tail == limit) {
                      limit = credit.load(std::memory_order_acquire) + kMask;
                      if (!schedule.violation().empty()) return;
                      continue;
                    }
                    Slot& slot = slots[tail & kMask];
                    slot.payload = 1000 + tail;
                    slot.header.store(
                        detail::slot_header(detail::lap_of(tail, kMask), 8, 1, detail::SlotKind::message),
                        std::memory_order_release);
                    ++tail;
                  }
                },
                [&] {
                  std::uint64_t credited = 0;
                  while (received < kMessages && schedule.violation().empty()) {
                    Slot& slot = slots[received & kMask];
                    if (slot.header.load(std::memory_order_relaxed) == 0) continue;
                    const std::uint64_t header = slot.header.load(std::memory_order_acquire);
                    if (header >> 32 != detail::lap_of(received, kMask))
                      schedule.report("a slot of another lap");
                    if (slot.payload != 1000 + received) schedule.report("wrong payload");
                    slot.header.store(0, std::memory_order_relaxed);
                    ++received;
                    if (received - credited > kMask / 4) {
                      credit.store(received, std::memory_order_release);
                      credited = received;
                    }
                  }
                }});
  if (received != kMessages) schedule.report("a message is lost");
}

TEST(Lane, hands_over_every_slot_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_sound(lane_scenario);
}

}  // namespace
}  // namespace weft
