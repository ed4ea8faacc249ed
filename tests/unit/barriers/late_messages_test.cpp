// A message that a thread stores while its context ends: forced, on the code of the context's end.
#include "core/runtime/runtime_state.hpp"
#include "support/ranks.hpp"
#include "unit/barriers/barrier_watch.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace weft {
namespace {

using test::Ranks;

/// A context of rank 0, and a message that another thread of it is storing.
class EndOfContext : public testing::Test {
 protected:
  explicit EndOfContext(MatchOrder order)
      : numbers_(MatchingContext::reserve(ranks_.runtime(0), 1)),
        context_(MatchingContext::of(ranks_.runtime(0), numbers_, {.order = order})),
        engines_(ranks_.runtime(0).state().matching_engines()),
        engine_(*engines_.find(core::MatchingContexts::engine_of(numbers_, order))) {}

  [[nodiscard]] std::uint64_t tag() const { return std::uint64_t{numbers_.first} << 32 | 5; }
  [[nodiscard]] bool is_late() { return engines_.contexts().is_late(tag()); }
  /// What the thread has looked at before lets it store the message.
  void store() {
    core::CreditLedger& ledger =
        ranks_.runtime(0).state().accounts().credit_ledgers(0).of(MessageClass::normal);
    ASSERT_TRUE(ledger.admit(1, 0));
    const auto make = [&] {
      core::MatchRecord* const record = engine_.storage().take_unexpected();
      record->unexpected->describe(1, tag(), 0, 0, &ledger);
      static_cast<void>(record->unexpected->set_inside());
      return record;
    };
    const core::MatchKey key{tag(), 1, 0};
    const auto answer = engine_.order() != nullptr
                            ? engine_.order()->match(key, make).answer
                            : engine_.pair(core::MatchSide::unexpected, key, make).answer;
    EXPECT_EQ(answer, core::MatchingEngine::Table::Answer::kept);
  }
  void expect_dropped() {
    EXPECT_EQ(ranks_.runtime(0).counters().refused_messages, 1U);
    EXPECT_EQ(ranks_.runtime(0).counters().unexpected_now, 0U);
  }

  Ranks<> ranks_{2};
  const ContextNumbers numbers_;
  std::optional<MatchingContext> context_;
  core::MatchingEngines& engines_;
  core::MatchingEngine& engine_;
};

class EndOfUnorderedContext : public EndOfContext {
 protected:
  EndOfUnorderedContext() : EndOfContext(MatchOrder::unordered) {}
};

TEST_F(EndOfUnorderedContext, finds_a_message_that_was_on_its_way_behind_a_barrier) {
  bool has_stored = false;
  {
    const test::BarrierWatch watch([&](test::BarrierOf) {
      if (std::exchange(has_stored, true)) return;
      EXPECT_TRUE(is_late()) << "who looks behind the barrier knows";
      store();
    });
    context_.reset();
  }
  EXPECT_TRUE(has_stored);
  expect_dropped();
}

class EndOfOrderedContext : public EndOfContext {
 protected:
  EndOfOrderedContext() : EndOfContext(MatchOrder::ordered) {}
};

TEST_F(EndOfOrderedContext, waits_for_who_has_looked_and_stores_in_one_hold_of_the_order) {
  const core::OrderedMatching::Hold hold = engine_.order()->enter();
  ASSERT_FALSE(is_late());
  auto end = std::async(std::launch::async, [&] { context_.reset(); });
  while (!is_late()) std::this_thread::yield();
  // Not an expectation: time for an end that does not wait.
  static_cast<void>(end.wait_for(std::chrono::milliseconds(100)));
  store();
  engine_.order()->leave(hold);
  end.get();
  expect_dropped();
}

}  // namespace
}  // namespace weft
