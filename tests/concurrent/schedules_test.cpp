// Forced schedules of the lock-free structures over a model of weak memory. Each structure is also run with
// its releases, and then its acquires, taken away: a model that does not notice would prove nothing.
#include "support/schedules.hpp"
#include "concurrent/index_pool.hpp"
#include "concurrent/intake.hpp"

#include <weft/detail/entry_ring.hpp>
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

TEST(Intake, hands_over_every_item_once_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  struct Item {
    Cell<Item*> next{nullptr};
    Cell<int> value{0};
  };
  expect_sound([](Schedule& schedule) {
    concurrent::Intake<Item, model::Atomic> intake;
    Item items[6];
    std::map<int, int> seen;
    std::map<int, int> last;
    const auto take = [&] {
      for (Item* item = intake.take_all(); item != nullptr;) {
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
        intake.put(item);
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
    if (!intake.empty()) schedule.report("not empty");
  });
}

/// A ring's entry whose content is checked for races.
struct ModelEntry {
  model::Atomic<std::uint32_t> sequence;
  Cell<int> value;
  void store(int& item) { value = item; }
  void load(int& item) { item = value; }
};

template <class Producers, class Consumers>
using ModelRing = detail::EntryRing<Producers, Consumers, ModelEntry, model::Atomic>;

template <class Ring>
typename Ring::Push push(Ring& ring, int& item) {
  if constexpr (requires { ring.push(item); }) {
    return ring.push(item);
  } else {
    std::uint64_t position = 0;
    return ring.push(item, position);
  }
}

/// Rings in a chain as completion queues use them: a full ring is closed and continued by a larger one.
template <class Producers, class Consumers>
class Chain {
 public:
  using Ring = ModelRing<Producers, Consumers>;
  Chain() : head_(new_ring(2)), tail_(head_.load(std::memory_order_relaxed)) {}
  void push_all(int item) {
    for (;;) {
      Ring* ring = tail_.load(std::memory_order_acquire);
      const auto result = push(*ring, item);
      if (result == Ring::Push::pushed) return;
      if (result == Ring::Push::full && ring->next.load(std::memory_order_acquire) == nullptr) {
        Ring* larger = new_ring(ring->capacity() * 2);
        Ring* none = nullptr;
        ring->next.compare_exchange_strong(none, larger, std::memory_order_acq_rel);
      }
      Ring* next = ring->next.load(std::memory_order_acquire);
      if (next != nullptr) {
        ring->close();
        tail_.compare_exchange_strong(ring, next, std::memory_order_acq_rel);
      }
    }
  }
  bool pop(int& item) {
    for (;;) {
      Ring* ring = head_.load(std::memory_order_acquire);
      if (ring->pop(item)) return true;
      Ring* next = ring->next.load(std::memory_order_acquire);
      if (next == nullptr || !ring->drained()) return false;
      head_.compare_exchange_strong(ring, next, std::memory_order_acq_rel);
    }
  }

 private:
  Ring* new_ring(std::uint32_t capacity) {
    rings_.push_back(std::make_unique<Ring>(capacity));
    return rings_.back().get();
  }
  std::vector<std::unique_ptr<Ring>> rings_;
  model::Atomic<Ring*> head_;
  model::Atomic<Ring*> tail_;
};

/// What consumers have popped: everything once, and one producer's items in order for each consumer.
class Popped {
 public:
  Popped(Schedule& schedule, int consumers)
      : schedule_(schedule), last_(static_cast<std::size_t>(consumers)) {}
  void note(int consumer, int item) {
    if (++seen_[item] != 1) schedule_.report("an item came twice");
    int& last = last_[static_cast<std::size_t>(consumer)][item / 100];
    if (item <= last) schedule_.report("one producer's items are out of order");
    last = item;
  }
  [[nodiscard]] std::size_t count() const { return seen_.size(); }

 private:
  Schedule& schedule_;
  std::map<int, int> seen_;
  std::vector<std::map<int, int>> last_;
};

template <class Producers, class Consumers>
void expect_sound_ring(int producers, int consumers) {
  constexpr int kItems = 4;
  expect_sound([=](Schedule& schedule) {
    ModelRing<Producers, Consumers> ring(2);
    Popped popped(schedule, consumers);
    const auto total = static_cast<std::size_t>(producers * kItems);
    std::vector<std::function<void()>> threads;
    for (int producer = 1; producer <= producers; ++producer)
      threads.push_back([&, producer] {
        for (int count = 1; count <= kItems; ++count) {
          int item = producer * 100 + count;
          while (push(ring, item) != decltype(ring)::Push::pushed)
            if (!schedule.violation().empty()) return;
        }
      });
    for (int consumer = 0; consumer < consumers; ++consumer)
      threads.push_back([&, consumer] {
        while (popped.count() < total && schedule.violation().empty()) {
          int item = 0;
          if (ring.pop(item)) popped.note(consumer, item);
        }
      });
    schedule.run(std::move(threads));
    if (popped.count() != total) schedule.report("an item is lost");
    if (!ring.empty()) schedule.report("not empty at the end");
  });
}

TEST(EntryRing, of_many_producers_and_consumers_is_sound) {
  WEFT_NEEDS_FIBERS();
  expect_sound_ring<detail::ManyThreads, detail::ManyThreads>(2, 2);
}
TEST(EntryRing, of_many_producers_and_one_consumer_is_sound) {
  WEFT_NEEDS_FIBERS();
  expect_sound_ring<detail::ManyThreads, detail::OneThread>(3, 1);
}
TEST(EntryRing, of_one_producer_and_one_consumer_is_sound) {
  WEFT_NEEDS_FIBERS();
  expect_sound_ring<detail::OneThread, detail::OneThread>(1, 1);
}

template <class Producers, class Consumers>
void expect_sound_chain(int producers, int consumers) {
  constexpr int kItems = 5;
  expect_sound([=](Schedule& schedule) {
    Chain<Producers, Consumers> chain;
    Popped popped(schedule, consumers);
    const auto total = static_cast<std::size_t>(producers * kItems);
    std::vector<std::function<void()>> threads;
    for (int producer = 1; producer <= producers; ++producer)
      threads.push_back([&, producer] {
        for (int count = 1; count <= kItems; ++count) chain.push_all(producer * 100 + count);
      });
    for (int consumer = 0; consumer < consumers; ++consumer)
      threads.push_back([&, consumer] {
        while (popped.count() < total && schedule.violation().empty()) {
          int item = 0;
          if (chain.pop(item)) popped.note(consumer, item);
        }
      });
    schedule.run(std::move(threads));
    if (popped.count() != total) schedule.report("an item is lost");
  });
}

TEST(EntryRing, that_is_closed_and_continued_loses_nothing) {
  WEFT_NEEDS_FIBERS();
  expect_sound_chain<detail::ManyThreads, detail::ManyThreads>(2, 2);
  expect_sound_chain<detail::ManyThreads, detail::OneThread>(3, 1);
  expect_sound_chain<detail::OneThread, detail::OneThread>(1, 1);
}

/// The lane's protocol as detail::post_slot and the receiver in src/network/shm follow it: header last and
/// with release, cleared after reading, credit with release a quarter of the ring at a time.
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
                    slot.header.store(detail::slot_header(tail, 8, 1, detail::SlotKind::message),
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
                    if (header >> 32 != received) schedule.report("slot out of sequence");
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
