// What engines count, and record, when somebody asks for it.
#include <weft/error.hpp>
#include <weft/matching/offline.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "core/matching/matching_engines.hpp"
#include "unit/core/matching/plain_list_algorithm.hpp"

namespace weft {
namespace {

using Answer = OfflineMatchingEngine::Answer;

OfflineMatchingOptions with_counters(bool has_algorithm, MatchOrder order = MatchOrder::ordered) {
  OfflineMatchingOptions options{.order = order, .counters = true, .ranks = 4};
  if (has_algorithm) options.algorithm = std::make_shared<test::PlainListAlgorithm>();
  return options;
}

TEST(MatchCounters, count_what_a_list_compares) {
  OfflineMatchingEngine engine(with_counters(true));
  for (std::uint64_t tag = 0; tag < 10; ++tag) EXPECT_EQ(engine.post(tag, 1, tag).answer, Answer::waits);
  for (std::uint64_t tag = 10; tag-- > 0;) {
    const auto result = engine.arrive(100 + tag, 1, tag);
    EXPECT_EQ(result.answer, Answer::matched);
    EXPECT_EQ(result.id, tag);
  }
  const MatchingCounters counters = engine.counters();
  EXPECT_EQ(counters.posts.count, 10U);
  EXPECT_EQ(counters.posts.matched, 0U);
  EXPECT_EQ(counters.posts.compared, 0U) << "no message was waiting";
  EXPECT_EQ(counters.arrivals.count, 10U);
  EXPECT_EQ(counters.arrivals.matched, 10U);
  EXPECT_EQ(counters.arrivals.compared, 55U) << "the last receive each time";
  EXPECT_EQ(counters.arrivals.deepest, 10U);
  EXPECT_EQ(counters.arrivals.waiting, 55U);
  EXPECT_EQ(counters.arrivals.most_waiting, 10U);
  EXPECT_DOUBLE_EQ(counters.arrivals.mean_depth(), 5.5);
  EXPECT_GT(counters.arrivals.nanoseconds, 0U);
}

TEST(MatchCounters, of_tables_tell_the_keys_of_a_bucket) {
  for (const MatchOrder order : {MatchOrder::ordered, MatchOrder::unordered}) {
    OfflineMatchingOptions options = with_counters(false, order);
    options.buckets = 1;  // everything in one
    OfflineMatchingEngine engine(options);
    for (std::uint64_t tag = 0; tag < 8; ++tag) EXPECT_EQ(engine.post(tag, 1, tag).answer, Answer::waits);
    EXPECT_EQ(engine.arrive(0, 1, 7).id, 7U);
    EXPECT_EQ(engine.counters().arrivals.compared, 8U) << "three keys in the bucket, five behind it";
    EXPECT_EQ(engine.arrive(0, 1, 0).id, 0U);
    EXPECT_EQ(engine.counters().arrivals.compared, 9U);
    EXPECT_EQ(engine.arrive(0, 2, 0).answer, Answer::waits);
    EXPECT_EQ(engine.counters().arrivals.compared, 15U) << "all six that are left";
  }
}

TEST(MatchCounters, of_ordered_engines_tell_the_wildcards) {
  OfflineMatchingEngine engine(with_counters(false));
  for (std::uint64_t id = 0; id < 5; ++id) engine.post(id, any_source, 100 + id);
  EXPECT_EQ(engine.arrive(0, 3, 104).id, 4U);
  EXPECT_EQ(engine.counters().arrivals.compared, 5U);
  for (std::uint64_t id = 0; id < 3; ++id) engine.arrive(id, 3, 7);
  EXPECT_EQ(engine.post(9, any_source, 7).id, 0U);
  EXPECT_EQ(engine.counters().posts.deepest, 1U);
}

TEST(MatchCounters, forget_what_was_cancelled_or_taken) {
  for (const bool has_algorithm : {false, true}) {
    OfflineMatchingEngine engine(with_counters(has_algorithm));
    ReceiveHandle handle;
    engine.post(1, 0, 5, ~std::uint64_t{0}, &handle);
    EXPECT_TRUE(engine.cancel(handle));
    EXPECT_FALSE(engine.cancel(handle));
    EXPECT_EQ(engine.arrive(2, 0, 5).answer, Answer::waits);
    EXPECT_EQ(engine.counters().arrivals.waiting, 0U);
    EXPECT_EQ(engine.probe(any_source, any_tag).id, 2U);
    EXPECT_EQ(engine.take(0, 5).id, 2U);
    EXPECT_EQ(engine.take(0, 5).answer, Answer::waits);
    engine.post(3, 0, 5);
    EXPECT_EQ(engine.counters().posts.waiting, 0U);
  }
}

TEST(OfflineMatching, refuses_what_it_cannot_do) {
  const auto refused = [](const OfflineMatchingOptions& options) -> std::string {
    try {
      const OfflineMatchingEngine engine(options);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refused({.records = 0}), "OfflineMatchingEngine: records is 0; it must be 1 to 2^24");
  EXPECT_EQ(refused({.buckets = 3}),
            "OfflineMatchingEngine: buckets is 3; it must be a power of two up to 2^24");
  EXPECT_EQ(refused({.ranks = 0}), "OfflineMatchingEngine: ranks is 0; it must be at least 1");
  EXPECT_EQ(refused({.algorithm = std::make_shared<test::PlainListAlgorithm>()}),
            "OfflineMatchingEngine: a matching algorithm needs MatchOrder::ordered");
  const auto refusal = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  OfflineMatchingEngine unordered({.ranks = 2});
  OfflineMatchingEngine ordered({.order = MatchOrder::ordered, .ranks = 2});
  EXPECT_EQ(refusal([&] { ordered.arrive(1, 2, 0); }),
            "OfflineMatchingEngine: arrive: source 2 is not a rank (0 to 1)");
  EXPECT_EQ(refusal([&] { ordered.arrive(1, any_source, 0); }),
            "OfflineMatchingEngine: arrive: source -1 is not a rank (0 to 1)");
  EXPECT_EQ(
      refusal([&] { unordered.post(1, any_source, 0); }),
      "OfflineMatchingEngine: post: source -1 is not a rank (0 to 1); any_source needs an ordered engine");
  EXPECT_EQ(refusal([&] { ordered.probe(-2, 0); }),
            "OfflineMatchingEngine: probe: source -2 is not a rank (0 to 1)");
  EXPECT_EQ(refusal([&] { ordered.post(1, any_source, 0); }), "accepted");
  OfflineMatchingEngine small({.records = 1});
  EXPECT_EQ(small.post(1, 0, 1).answer, Answer::waits);
  EXPECT_EQ(small.post(2, 0, 1).answer, Answer::exhausted);
}

/// Names items that do not exist.
class WrongAlgorithm final : public MatchingAlgorithm {
 public:
  void reserve(Item, int) override {}
  Found take_receive(const MatchEnvelope&) noexcept override { return {12'345, 1}; }
  void add_message(Item, const MatchEnvelope&) noexcept override {}
  Found take_message(const MatchPattern&) noexcept override { return {}; }
  void add_receive(Item, const MatchPattern&) noexcept override {}
  Found find_message(const MatchPattern&) const noexcept override { return {}; }
  void remove_receive(Item) noexcept override {}
  void remove_message(Item) noexcept override {}
};

TEST(OfflineMatchingDeathTest, names_an_algorithm_that_is_wrong) {
  OfflineMatchingEngine engine(
      {.order = MatchOrder::ordered, .algorithm = std::make_shared<WrongAlgorithm>()});
  EXPECT_DEATH(static_cast<void>(engine.arrive(1, 0, 1)),
               "the algorithm of matching engine 256 is wrong: take_receive\\(\\) returned item 12345");
}

TEST(MatchEventLog, tells_what_happened_in_order) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("weft-matching-" + std::to_string(::getpid()))).string();
  {
    core::MatchEventLog log(path, 1, 4);
    core::MatchingEngine engine(256, {16, 64, 4}, core::MatchingSetup{.log = &log});
    core::OrderedMatching& order = *engine.order();
    const auto post = [&](int source, std::uint64_t tag, std::uint64_t mask) {
      const auto hold = order.enter();
      const auto result = order.post(
          core::OrderedMatching::key_of(source, tag, mask), [&] { return engine.storage().records().take(); },
          mask);
      order.leave(hold);
      return result.record;
    };
    core::MatchRecord* const first = post(2, 0x1f, ~std::uint64_t{0});
    post(any_source, 3, 0xff);
    EXPECT_NE(engine.cancel(engine.handle(*first)), nullptr);
    static_cast<void>(order.arrive(2, 0, 0, 9, [&] { return engine.storage().take_unexpected(); }));
    EXPECT_NE(order.take_message({9, 2, 0}), nullptr);
    EXPECT_TRUE(log.write());
  }
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  EXPECT_EQ(text.str(),
            "# weft matching trace 1, rank 1 of 4, 5 events, 0 dropped\n"
            "post 256 2 1f 0 ffffffffffffffff 100000000\n"
            "post 256 -1 3 1 ff 100000001\n"
            "cancel 256 100000000\n"
            "arrive 256 2 9 0\n"
            "take 256 2 9 0 ffffffffffffffff\n");
}

TEST(MatchCounters, know_what_waited_when_the_engine_was_opened) {
  core::MatchingEngines engines({16, 64, 4});
  const core::MatchKey key{5, 1, 0};
  core::MatchingEngine* engine = engines.find(3);
  static_cast<void>(
      engine->pair(core::MatchSide::unexpected, key, [&] { return engine->storage().take_unexpected(); }));
  engine = &engines.open(3, MatchOrder::unordered, {.counters = true}, nullptr, nullptr);
  EXPECT_EQ(engine->counters().arrivals.count, 1U);
  const auto received =
      engine->pair(core::MatchSide::posted, key, [&] { return engine->storage().records().take(); });
  ASSERT_EQ(received.answer, core::MatchingEngine::Table::Answer::matched);
  EXPECT_EQ(engine->counters().posts.waiting, 1U);
  static_cast<void>(
      engine->pair(core::MatchSide::posted, key, [&] { return engine->storage().records().take(); }));
  EXPECT_EQ(engine->counters().posts.waiting, 1U) << "nothing waits any more";
  engine->storage().release(*received.record);
}

TEST(MatchingAlgorithm, serves_one_engine) {
  core::MatchingEngines engines({16, 64, 4});
  const auto algorithm = std::make_shared<test::PlainListAlgorithm>();
  engines.open(300, MatchOrder::ordered, {.algorithm = algorithm}, nullptr, nullptr);
  engines.close(300);
  try {
    engines.open(301, MatchOrder::ordered, {.algorithm = algorithm}, nullptr, nullptr);
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "matching engine 301: its algorithm serves engine 300 already; each engine needs one of its "
                 "own");
  }
  engines.open(300, MatchOrder::ordered, {.algorithm = algorithm}, nullptr, nullptr);
}

TEST(MatchEventLog, refuses_a_file_that_cannot_be_written) {
  EXPECT_THROW(core::MatchEventLog("/nowhere/trace", 0, 1), Error);
}

}  // namespace
}  // namespace weft
