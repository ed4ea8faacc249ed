// Forced schedules of a message that is stored while its context ends: one of the two threads drops it.
#include "core/matching/gone_contexts.hpp"
#include "core/matching/table/match_table.hpp"
#include "core/matching/table/record_pool.hpp"
#include "support/schedules.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

namespace model = test::model;
using model::expect_barrier_is_needed;
using model::Schedule;

struct StoredRecord : core::BasicMatchLink<model::Atomic>, core::BasicPooledRecord<model::Atomic> {};
using StoredTable = core::MatchTable<StoredRecord, model::Atomic, model::Threads>;
using Gone = core::BasicGoneContexts<model::Atomic, 4>;
using core::MatchSide;

constexpr std::uint32_t kContext = 7;

/// `looks_again`: as every arrival does, after it has stored its message.
void message_is_dropped_once(Schedule& schedule, bool looks_again) {
  StoredTable table(64, false, 2);  // a record that is new is looked for in another bucket
  Gone gone(1U << 20);
  StoredRecord message;
  int dropped = 0;
  const auto drop = [&] {
    if (table.unlink(message, [] { return true; })) ++dropped;
  };
  const auto arrive = [&] {
    const std::uint32_t ended = gone.ended();
    if (gone.may_have(kContext)) {
      ++dropped;
      return;
    }
    const auto store = [&] {
      return table
          .pair(MatchSide::unexpected, {std::uint64_t{kContext} << 32, 0, 0}, [&] { return &message; })
          .answer;
    };
    while (store() == StoredTable::Answer::contended) {
    }
    if (looks_again && gone.has_ended_more(ended) && gone.may_have(kContext)) drop();
  };
  const auto end = [&] {
    gone.add({kContext, 1});
    schedule.barrier();
    drop();
  };
  schedule.run({arrive, end});
  if (dropped != 1) schedule.report("dropped " + std::to_string(dropped) + " times");
}

TEST(LateMessages, that_are_stored_while_their_context_ends_are_dropped_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_barrier_is_needed([](Schedule& schedule) { message_is_dropped_once(schedule, true); });
}

TEST(LateMessages, would_be_kept_by_an_arrival_that_does_not_look_again) {
  WEFT_NEEDS_FIBERS();
  EXPECT_NE(model::explore(model::kSchedules, model::Weaken::nothing,
                           [](Schedule& schedule) { message_is_dropped_once(schedule, false); }),
            "");
}

TEST(LateMessages, are_told_while_marks_are_made_anew_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  const auto scenario = [](Schedule& schedule) {
    Gone gone(1U << 20);
    gone.add({100, 1});
    gone.add({101, 1});
    schedule.run({[&] {
                    gone.add({102, 2});
                    gone.add({104, 1});  // the marks are made anew
                  },
                  [&] {
                    for (int round = 0; round < 4; ++round)
                      if (!gone.may_have(100) || !gone.may_have(101)) schedule.report("one is not known");
                    if (gone.ended() > 2 && !gone.may_have(103)) schedule.report("the newest is not known");
                  }});
  };
  EXPECT_EQ(model::explore(model::kSchedules, model::Weaken::nothing, scenario), "");
  EXPECT_NE(model::explore(model::kSchedules, model::Weaken::releases, scenario), "");
}

}  // namespace
}  // namespace weft
