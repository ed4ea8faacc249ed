// Ordered engines: numbers of messages, full tables, ids.
#include "core/matching/matching_engines.hpp"

#include <weft/completion/completion.hpp>
#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft::core {
namespace {

constexpr std::uint32_t kSmallEngine = kMatchingEngines + 3;
constexpr int kFewRanks = 4;
constexpr MatchingLimits kSmallLimits{16, 4096, kFewRanks};

/// Never signalled: it marks a record as that of a receive.
class UnusedCompletion final : public Completion {
 public:
  ~UnusedCompletion() override { withdraw(); }
  void signal(Message&) noexcept override {}
  [[nodiscard]] bool ready() const noexcept override { return false; }
};

class Numbers : public testing::Test {
 protected:
  OrderedMatching::Arrival arrive(std::uint32_t number) {
    return engine.order()->arrive(1, 0, number, 5, [&] { return engine.storage().take_unexpected(); });
  }
  using Answer = OrderedMatching::Arrival::Answer;
  MatchingEngine engine{static_cast<std::uint16_t>(kSmallEngine), kSmallLimits, true};
};

TEST_F(Numbers, that_were_used_are_rejected) {
  EXPECT_EQ(arrive(0).answer, Answer::kept);
  EXPECT_EQ(arrive(0).answer, Answer::rejected) << "it has arrived";
  EXPECT_EQ(arrive(2).answer, Answer::kept) << "held";
  EXPECT_EQ(arrive(2).answer, Answer::rejected) << "it is held";
  EXPECT_EQ(arrive(~std::uint32_t{0}).answer, Answer::rejected) << "behind";
  EXPECT_EQ(arrive(1).answer, Answer::kept);
  EXPECT_EQ(arrive(2).answer, Answer::rejected);
}

TEST_F(Numbers, wrap_round) {
  engine.order()->arrivals(1, 0).expected = ~std::uint32_t{0} - 1;
  EXPECT_EQ(arrive(1).answer, Answer::kept);
  EXPECT_EQ(arrive(~std::uint32_t{0}).answer, Answer::kept);
  EXPECT_EQ(arrive(0).answer, Answer::kept);
  EXPECT_EQ(engine.order()->take_message({5, 1, 0}), nullptr) << "all of them are held";
  EXPECT_EQ(arrive(~std::uint32_t{0} - 1).answer, Answer::kept);
  for (int message = 0; message < 4; ++message) {
    MatchRecord* record = engine.order()->take_message({5, 1, 0});
    ASSERT_NE(record, nullptr);
    engine.storage().release(*record);
  }
  EXPECT_EQ(engine.order()->arrivals(1, 0).expected, 2U);
}

TEST(OrderedTables, that_are_full_keep_held_messages_until_there_is_room) {
  MatchTable<MatchRecord> table(1, true, 1);  // room for six keys
  RecordPool<MatchRecord> records(64, true);
  OrderedMatching order(table, records, kFewRanks, true);
  UnusedCompletion completion;
  std::vector<MatchRecord*> posted;
  const auto take = [&] { return records.take(); };
  for (const std::uint64_t tag : {1, 1, 2, 3, 4, 5, 6}) {
    const auto result = order.post({tag, 2, 0}, take);
    ASSERT_EQ(result.answer, OrderedMatching::Answer::kept);
    result.record->completion = &completion;
    posted.push_back(result.record);
  }
  using Arrival = OrderedMatching::Arrival;
  const auto arrive = [&](std::uint32_t number, std::uint64_t tag) {
    return order.arrive(2, 0, number, tag, [&] {
      MatchRecord* record = records.take();
      record->completion = nullptr;
      return record;
    });
  };
  EXPECT_EQ(arrive(1, 99).answer, Arrival::Answer::kept);  // before its turn
  EXPECT_EQ(arrive(0, 1).record, posted[0]);               // its turn has come, but no place for its key
  EXPECT_EQ(arrive(1, 99).answer, Arrival::Answer::rejected);
  EXPECT_EQ(arrive(2, 2).due, nullptr);
  ASSERT_TRUE(order.unlink(*posted[3], [] { return true; }));
  const Arrival last = arrive(3, 4);
  ASSERT_EQ(last.due, posted[2]);
  EXPECT_EQ(last.due->next, posted[4]);
  EXPECT_NE(order.take_message({99, 2, 0}), nullptr);
}

TEST(OrderedEngines, have_ids_of_their_own) {
  MatchingEngines engines(kSmallLimits);
  const auto error_of = [&](std::uint32_t id, MatchOrder order, KeyFunction function = nullptr) {
    try {
      engines.open(id, order, {}, function, nullptr);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error_of(3, MatchOrder::ordered),
            "matching engine 3 is out of range: ordered engines have the ids 256 to 511");
  EXPECT_EQ(error_of(300, MatchOrder::unordered),
            "matching engine 300 is out of range: 0 to 255; ordered engines need MatchOrder::ordered");
  EXPECT_EQ(error_of(512, MatchOrder::ordered),
            "matching engine 512 is out of range: ordered engines have the ids 256 to 511");
  EXPECT_EQ(
      error_of(300, MatchOrder::ordered, [](int, std::uint64_t tag, const void*) noexcept { return tag; }),
      "matching engine 300 is ordered: it matches by rank and tag, not by a make_key");
  EXPECT_EQ(error_of(300, MatchOrder::ordered), "");
  EXPECT_EQ(error_of(3, MatchOrder::unordered), "");
  EXPECT_EQ(engines.find(300)->attributes().order, MatchOrder::ordered);
  EXPECT_EQ(engines.find(3)->attributes().order, MatchOrder::unordered);
}

}  // namespace
}  // namespace weft::core
