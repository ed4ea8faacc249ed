// Forced schedules of completion queues over a model of weak memory, as in schedules_test.cpp: the ring that
// they are made of, rings in a chain, and their ends.
#include "support/schedules.hpp"

#include <weft/detail/entry_ring.hpp>
#include <weft/detail/queue_end.hpp>

#include <gtest/gtest.h>

#include <map>

namespace weft {
namespace {

namespace model = test::model;
using model::Cell;
using model::expect_sound;
using model::Schedule;

/// A ring's entry whose content is checked for races.
struct ModelEntry {
  model::Atomic<std::uint32_t> sequence;
  Cell<int> value;
  void store(int& item) { value = item; }
  void load(int& item) { item = value; }
};

using Ring = detail::EntryRing<ModelEntry, model::Atomic>;
template <class Users>
using End = detail::QueueEnd<Users, model::Atomic, model::Threads>;
using detail::ManyThreads;
using detail::OneThread;
constexpr int kEnoughToOwn = 70;  // visits of a thread after which it is known to be alone

/// Rings in a chain as completion queues use them: a full ring is closed and continued by a larger one.
template <class Producers, class Consumers>
class Chain {
 public:
  explicit Chain(std::uint32_t capacity = 2)
      : head_(new_ring(capacity)), tail_(head_.load(std::memory_order_relaxed)) {}
  /// Whether the thread was alone.
  bool push(int item) {
    return push_and(item, [] {});
  }
  /// Calls `then` between the push and the thread's leaving.
  template <class Then>
  bool push_and(int item, const Then& then) {
    if (producers_.enter_alone()) {
      const bool is_pushed =
          tail_.load(std::memory_order_acquire)->push_alone(~std::uint64_t{0} << 1, [&](ModelEntry& entry) {
            entry.store(item);
          });
      if (is_pushed) then();
      producers_.leave_alone();
      if (is_pushed) return true;
    }
    const auto visit = producers_.enter();
    for (;;) {
      Ring* ring = tail_.load(std::memory_order_acquire);
      const auto result = ring->push(item, visit.alone);
      if (result == Ring::Push::pushed) {
        then();
        producers_.leave(visit);
        return visit.alone;
      }
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
  void await_leaving() { producers_.await_leaving(); }
  bool pop(int& item) {
    for (;;) {
      Ring* ring = head_.load(std::memory_order_acquire);
      const auto front = ring->front();
      if (front.is_full && consumers_.enter_alone()) {
        ring->pop_alone(front, item);
        consumers_.leave_alone();
        return true;
      }
      if (front.is_full) {
        const auto visit = consumers_.enter();
        const bool popped = ring->pop(item, visit.alone);
        consumers_.leave(visit);
        if (popped) return true;
      }
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
  End<Producers> producers_;
  End<Consumers> consumers_;
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

void expect_sound_ring(int producers, int consumers) {
  constexpr int kItems = 4;
  expect_sound([=](Schedule& schedule) {
    Ring ring(2);
    Popped popped(schedule, consumers);
    const auto total = static_cast<std::size_t>(producers * kItems);
    std::vector<std::function<void()>> threads;
    for (int producer = 1; producer <= producers; ++producer)
      threads.push_back([&, producer] {
        for (int count = 1; count <= kItems; ++count) {
          int item = producer * 100 + count;
          while (ring.push(item, producers == 1) != Ring::Push::pushed)
            if (!schedule.violation().empty()) return;
        }
      });
    for (int consumer = 0; consumer < consumers; ++consumer)
      threads.push_back([&, consumer] {
        while (popped.count() < total && schedule.violation().empty()) {
          int item = 0;
          if (ring.pop(item, consumers == 1)) popped.note(consumer, item);
        }
      });
    schedule.run(std::move(threads));
    if (popped.count() != total) schedule.report("an item is lost");
    if (!ring.empty()) schedule.report("not empty at the end");
  });
}

TEST(EntryRing, of_many_producers_and_consumers_is_sound) {
  WEFT_NEEDS_FIBERS();
  expect_sound_ring(2, 2);
}
TEST(EntryRing, of_many_producers_and_one_consumer_is_sound) {
  WEFT_NEEDS_FIBERS();
  expect_sound_ring(3, 1);
}
TEST(EntryRing, of_one_producer_and_one_consumer_is_sound) {
  WEFT_NEEDS_FIBERS();
  expect_sound_ring(1, 1);
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
        for (int count = 1; count <= kItems; ++count) chain.push(producer * 100 + count);
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
  expect_sound_chain<ManyThreads, ManyThreads>(2, 2);
  expect_sound_chain<ManyThreads, OneThread>(3, 1);
  expect_sound_chain<OneThread, OneThread>(1, 1);
}

TEST(QueueEnd, belongs_to_its_only_threads_until_others_come_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  constexpr int kLater = 4;
  bool was_alone = false;
  bool was_alone_and_found_nothing = false;
  expect_sound([&](Schedule& schedule) {
    Chain<ManyThreads, ManyThreads> chain(128);
    Popped popped(schedule, 3);
    constexpr std::size_t kTotal = kEnoughToOwn + 1 + 2 * kLater;
    const auto pop = [&](int consumer, std::size_t until) {
      while (popped.count() < until && schedule.violation().empty()) {
        int item = 0;
        if (chain.pop(item)) popped.note(consumer, item);
      }
    };
    schedule.run({[&] {
      for (int count = 1; count <= kEnoughToOwn; ++count) chain.push(100 + count);
      was_alone = chain.push(100 + kEnoughToOwn + 1) || was_alone;
      pop(2, kEnoughToOwn);
    }});
    schedule.run({[&] {
                    pop(2, kEnoughToOwn + 1);
                    for (int count = 2; count <= kLater + 1; ++count) chain.push(100 + kEnoughToOwn + count);
                  },
                  [&] {
                    for (int count = 1; count <= kLater; ++count)
                      was_alone_and_found_nothing = chain.push(200 + count) || was_alone_and_found_nothing;
                  },
                  [&] { pop(1, kTotal); }});
    pop(2, kTotal);
    if (popped.count() != kTotal) schedule.report("an item is lost");
  });
  EXPECT_TRUE(was_alone) << "no schedule has told a thread that it is alone";
  EXPECT_FALSE(was_alone_and_found_nothing);
}

TEST(QueueEnd, waits_for_the_last_push_before_it_is_destroyed_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_sound([](Schedule& schedule) {
    Chain<ManyThreads, OneThread> chain(128);
    Cell<int> life{0};
    constexpr int kItems = kEnoughToOwn + 1;
    schedule.run({[&] {
      for (int count = 1; count < kItems; ++count) chain.push(count);
    }});
    schedule.run({[&] {
                    // As push(), but for the look at the object's life before the last access to it.
                    chain.push_and(kItems, [&] { static_cast<void>(static_cast<int>(life)); });
                  },
                  [&] {
                    for (int item = 0; item != kItems && schedule.violation().empty();)
                      static_cast<void>(chain.pop(item));
                    chain.await_leaving();
                    life = 1;
                  }});
  });
}

}  // namespace
}  // namespace weft
