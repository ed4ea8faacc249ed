// Forced schedules of the matching engine's structures and of the synchronizer's counting, as in
// schedules_test.cpp: each must also be seen to fail when its releases, or its acquires, are taken away.
#include "core/matching/table/match_table.hpp"
#include "core/matching/table/record_pool.hpp"
#include "support/schedules.hpp"

#include <weft/detail/signal_rounds.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

namespace weft {
namespace {

namespace model = test::model;
using model::Cell;
using model::expect_sound;
using model::Schedule;

struct Record : core::BasicMatchLink<model::Atomic>, core::BasicPooledRecord<model::Atomic> {
  Cell<int> number{0};
};
using Table = core::MatchTable<Record, model::Atomic, model::Threads>;
using Pool = core::RecordPool<Record, model::Atomic>;
using core::MatchKey;
using core::MatchSide;
using detail::TryLock;

/// Pairs until the table takes the record or gives a partner, whose number is returned; 0: kept.
/// `short_cuts`: through the inlined parts first, as posts and arrivals do.
int pair(Table& table, MatchSide side, const MatchKey& key, Record& record, bool short_cuts) {
  for (;;) {
    if (short_cuts && side == MatchSide::posted &&
        table.try_add<TryLock, MatchSide::posted>(key, [&] { return &record; }))
      return 0;
    if (short_cuts && side == MatchSide::unexpected) {
      if (record.number % 2 == 0) {
        if (Record* partner = table.try_take<TryLock, MatchSide::unexpected>(key)) return partner->number;
      } else {
        int partner = 0;
        Table::Finder finder(table, key.origin(), key.tag);
        if (table.try_take_while<TryLock, MatchSide::unexpected>(
                key, finder, [&](const Record&) { return partner == 0; },
                [&](Record& taken) { partner = taken.number; }) != 0)
          return partner;
      }
    }
    const auto result = table.pair(side, key, [&] { return &record; });
    if (result.answer == Table::Answer::matched) return result.record->number;
    if (result.answer == Table::Answer::kept || !Schedule::current()->violation().empty()) return 0;
  }
}

void expect_pairs(bool short_cuts) {
  expect_sound([short_cuts](Schedule& schedule) {
    Table table(2, false, 2);
    std::deque<Record> records(12);
    std::map<int, int> partners;  // number of a record of one side to that of the other
    const auto use = [&](MatchSide side, int first) {
      for (int count = 0; count < 3; ++count) {
        const int number = first + count;
        Record& record = records[static_cast<std::size_t>(number - 1)];
        record.number = number;
        const int partner =
            pair(table, side, {static_cast<std::uint64_t>(count % 2), 0, 0}, record, short_cuts);
        if (partner == 0) continue;
        if ((partner - 1) / 6 == (number - 1) / 6) schedule.report("a record met its own side");
        if (!partners.emplace(partner, number).second || !partners.emplace(number, partner).second)
          schedule.report("a record was matched twice");
      }
    };
    schedule.run({[&] { use(MatchSide::posted, 1); }, [&] { use(MatchSide::posted, 4); },
                  [&] { use(MatchSide::unexpected, 7); }, [&] { use(MatchSide::unexpected, 10); }});
    std::size_t left = 0;
    table.clear([&](Record&, MatchSide) { ++left; });
    // Each side posts every key equally often, so that nothing may be left.
    if (partners.size() != 12 || left != 0) schedule.report("a pair was missed");
  });
}

TEST(MatchTable, pairs_every_record_once_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_pairs(false);
}

TEST(MatchTable, pairs_every_record_once_by_its_inlined_parts_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_pairs(true);
}

TEST(MatchTable, gives_a_record_to_its_partner_or_to_who_unlinks_it_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_sound([](Schedule& schedule) {
    Table table(2, false, 2);
    Pool pool(2, false);
    int matched = 0;
    int cancelled = 0;
    struct Handle {
      Record* record;
      std::uint32_t generation;
    };
    // One thread posts, in two keys by turns, so that records are used again under another key.
    model::Atomic<int> posted{0};
    Handle handles[4];
    const auto post = [&](int count) {
      const auto result =
          table.pair(MatchSide::posted, {static_cast<std::uint64_t>(count % 2), 0, 0}, [&]() -> Record* {
            Record* made = pool.take(1);
            if (made == nullptr) return nullptr;
            made->number = count;
            handles[count] = {made, made->generation()};
            return made;
          });
      if (result.answer == Table::Answer::matched) schedule.report("nothing is unexpected");
      return result.answer == Table::Answer::kept;
    };
    schedule.run({[&] {
                    int count = 0;
                    for (int tries = 0; tries < 30 && count < 4 && schedule.violation().empty(); ++tries)
                      if (post(count)) posted.store(++count, std::memory_order_release);
                  },
                  [&] {
                    for (int count = 0; count < 4 && schedule.violation().empty(); ++count) {
                      const auto result =
                          table.pair(MatchSide::unexpected, {static_cast<std::uint64_t>(count % 2), 0, 0},
                                     []() -> Record* { return nullptr; });
                      if (result.answer != Table::Answer::matched) continue;
                      if (result.record->number % 2 != count % 2)
                        schedule.report("matched under another key");
                      result.record->number = 77;
                      ++matched;
                      pool.release(*result.record, 2);
                    }
                  },
                  [&] {
                    for (int count = 0; count < 4 && schedule.violation().empty(); ++count) {
                      if (posted.load(std::memory_order_acquire) <= count) continue;
                      const Handle handle = handles[count];
                      // What is asked after the generation may be read: the record is still in that use.
                      if (!table.unlink(*handle.record, [&] {
                            return handle.record->generation() == handle.generation &&
                                   handle.record->number == count;
                          }))
                        continue;
                      handle.record->number = 88;
                      ++cancelled;
                      pool.release(*handle.record, 3);
                    }
                  }});
    int left = 0;
    table.clear([&](Record&, MatchSide) { ++left; });
    if (matched + cancelled + left != posted.load(std::memory_order_relaxed))
      schedule.report("a record ended twice or never");
  });
}

/// Takes a while to be made.
struct SlowRecord : core::BasicPooledRecord<model::Atomic> {
  SlowRecord() { is_whole.store(1, std::memory_order_relaxed); }
  model::Atomic<int> is_whole{0};
};

TEST(RecordPool, finds_no_record_before_it_is_made_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_sound([](Schedule& schedule) {
    using SlowPool = core::RecordPool<SlowRecord, model::Atomic>;
    SlowPool pool(4, false, SlowPool::Idle::unreachable);
    const auto take = [&](std::uint32_t as) { static_cast<void>(pool.take(as)); };
    schedule.run({[&] { take(1); }, [&] { take(300); },
                  [&] {
                    for (std::uint32_t index = 0; index < 4; ++index) {
                      const SlowRecord* found = pool.find(index);
                      if (found == nullptr) continue;
                      if (found->is_whole.load(std::memory_order_relaxed) != 1 || found->generation() != 1)
                        schedule.report("a record was found that is not there yet");
                    }
                  }});
    for (std::uint32_t index = 0; index < std::min(pool.made(), 4U); ++index)
      if (pool.find(index) == nullptr) schedule.report("a record was not found");
  });
}

TEST(RecordPool, gives_each_record_to_one_owner_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_sound([](Schedule& schedule) {
    Pool pool(4, false, Pool::Idle::unreachable);
    bool owned[4] = {};
    // One thread each with and without magazine takes from what others give back.
    const auto use = [&](std::uint32_t as) {
      std::vector<Record*> taken;
      for (int round = 0; round < 3; ++round) {
        for (int count = 0; count < 2; ++count) {
          Record* record = pool.take(as);
          if (record == nullptr) continue;
          if (owned[record->index()]) schedule.report("a record has two owners");
          owned[record->index()] = true;
          record->number = record->number + 1;
          taken.push_back(record);
        }
        for (Record* record : taken) {
          owned[record->index()] = false;
          pool.release(*record, as);
        }
        taken.clear();
      }
    };
    schedule.run({[&] { use(1); }, [&] { use(2); }, [&] { use(300); }});
    int rest = 0;
    for (const std::uint32_t as : {1U, 2U, 300U})
      while (pool.take(as) != nullptr) ++rest;
    if (rest != 4) schedule.report("a record is lost or there twice");
  });
}

TEST(SignalRounds, shows_every_signal_of_a_round_to_its_waiter_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  constexpr std::uint32_t kSignals = 2;
  constexpr int kRounds = 3;
  expect_sound([](Schedule& schedule) {
    detail::SignalRounds<model::Atomic> rounds(kSignals);
    Cell<int> slots[2 * kSignals];
    int signalled = 0;
    const auto signal_all = [&](int first) {
      for (int count = 0; count < kRounds;) {
        const std::uint64_t number = rounds.claim();
        if (!schedule.violation().empty()) return;
        if (number == rounds.kNone) continue;  // as a program would that signals too early
        Cell<int>& slot = slots[rounds.slot(number)];
        if (slot != 0) schedule.report("a slot was not empty");
        slot = first + ++count;
        ++signalled;
        rounds.finish(number);
      }
    };
    std::map<int, int> seen;
    schedule.run({[&] { signal_all(100); }, [&] { signal_all(200); },
                  [&] {
                    for (int round = 0; round < kRounds; ++round) {
                      while (!rounds.ready())
                        if (!schedule.violation().empty()) return;
                      for (std::uint64_t index = 0; index < kSignals; ++index) {
                        Cell<int>& cell = slots[rounds.first_slot() + index];
                        if (++seen[cell] != 1 || cell == 0)
                          schedule.report("a signal is missing or came twice");
                        cell = 0;
                      }
                      rounds.reset();
                    }
                  }});
    if (seen.size() != kSignals * kRounds || rounds.ready()) schedule.report("a signal is lost");
  });
}

TEST(SignalRounds, is_not_touched_by_signallers_once_it_is_ready_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_sound([](Schedule& schedule) {
    detail::SignalRounds<model::Atomic> rounds(3);
    Cell<int> memory;  // of the object: the waiter writes it as a destructor would
    const auto signal = [&] {
      const std::uint64_t number = rounds.claim();
      if (memory != 0) schedule.report("signalled after its end");
      rounds.finish(number);
    };
    schedule.run({signal, signal, signal, [&] {
                    while (!rounds.ready())
                      if (!schedule.violation().empty()) return;
                    memory = 1;
                  }});
  });
}

}  // namespace
}  // namespace weft
