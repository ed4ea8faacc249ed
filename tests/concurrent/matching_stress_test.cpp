// The matching engine's table and pool under real threads, for ThreadSanitizer and for what a model cannot
// show.
#include "core/matching/table/match_table.hpp"
#include "core/matching/table/record_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace weft::core {
namespace {

constexpr int kMatchingThreads = 4;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kMatchingRounds = 40'000;
#else
constexpr int kMatchingRounds = 300'000;
#endif

struct Record : MatchLink, PooledRecord {
  std::size_t number = 0;  // plain: a second owner is a data race
  MatchSide side = MatchSide::posted;
};
using Table = MatchTable<Record>;

struct Handle {
  std::uint32_t index;
  std::uint32_t generation;
  std::size_t number;
};

template <class Part>
void in_threads(const Part& part) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kMatchingThreads; ++thread)
    threads.emplace_back([&, thread] { part(thread); });
  for (std::thread& thread : threads) thread.join();
}

TEST(MatchTableStress, ends_every_record_once_by_its_partner_or_by_who_cancels_it) {
  constexpr std::size_t kNumbers = std::size_t{kMatchingThreads} * kMatchingRounds;
  Table table(2, false, 64);
  RecordPool<Record> pool(1024, false);
  // A number stands for one attempt to post; it ends by a partner, by cancelling, or at the end.
  const auto ended = std::make_unique<std::atomic<int>[]>(kNumbers);
  const auto kept = std::make_unique<std::atomic<int>[]>(kNumbers);
  std::atomic<std::size_t> wrong_side{0};
  std::atomic<std::size_t> wrong_number{0};
  std::atomic<std::size_t> matches{0};
  std::atomic<std::size_t> cancels{0};
  in_threads([&](int thread) {
    std::mt19937 random(static_cast<unsigned>(thread));
    std::vector<Handle> handles;
    for (int round = 0; round < kMatchingRounds; ++round) {
      const std::size_t number =
          static_cast<std::size_t>(thread) * kMatchingRounds + static_cast<std::size_t>(round);
      const MatchSide side = random() % 2 == 0 ? MatchSide::posted : MatchSide::unexpected;
      const MatchKey key{random() % 12, static_cast<std::uint32_t>(random() % 2), 0};
      const auto result = table.pair(side, key, [&]() -> Record* {
        Record* record = pool.take();
        if (record == nullptr) return nullptr;
        record->number = number;
        record->side = side;
        handles.push_back({record->index(), record->generation(), number});
        return record;
      });
      if (result.answer == Table::Answer::kept) {
        ++kept[number];
      } else if (result.answer == Table::Answer::matched) {
        ++matches;
        if (result.record->side == side || result.record->key() != key) ++wrong_side;
        ++ended[result.record->number];
        pool.release(*result.record);
      }
      if (handles.empty() || random() % 3 != 0) continue;
      const std::size_t which = random() % handles.size();
      const Handle handle = handles[which];
      handles[which] = handles.back();
      handles.pop_back();
      Record* record = pool.find(handle.index, handle.generation);
      const auto still = [&] {
        // What belongs to the use may be read after the generation.
        return record->generation() == handle.generation && record->number == handle.number;
      };
      if (record == nullptr || !table.unlink(*record, still)) continue;
      ++cancels;
      if (record->number != handle.number) ++wrong_number;
      ++ended[record->number];
      pool.release(*record);
    }
  });
  table.clear([&](Record& record, MatchSide) { ++ended[record.number]; });
  EXPECT_EQ(wrong_side, 0U);
  EXPECT_EQ(wrong_number, 0U);
  EXPECT_GT(matches, 0U);
  EXPECT_GT(cancels, 0U);
  for (std::size_t number = 0; number < kNumbers; ++number) ASSERT_EQ(ended[number], kept[number]) << number;
}

TEST(MatchTableStress, keeps_the_order_of_one_poster_under_one_key) {
  Table table(2, false);
  RecordPool<Record> pool(1024, false);
  std::atomic<bool> out_of_order{false};
  std::atomic<int> received{0};
  constexpr int kPosters = 2;
  const int total = kPosters * kMatchingRounds;
  in_threads([&](int thread) {
    if (thread < kPosters) {
      for (std::size_t number = 0; number < kMatchingRounds;) {
        const auto result =
            table.pair(MatchSide::posted, {static_cast<std::uint64_t>(thread), 0, 0}, [&]() -> Record* {
              Record* record = pool.take();
              if (record != nullptr) record->number = number;
              return record;
            });
        if (result.answer == Table::Answer::kept) {
          ++number;
        } else {
          std::this_thread::yield();
        }
      }
      return;
    }
    // One taker for each key: it must find the numbers ascending.
    std::size_t next = 0;
    while (received < total && next < kMatchingRounds) {
      const auto result =
          table.pair(MatchSide::unexpected, {static_cast<std::uint64_t>(thread - kPosters), 0, 0},
                     []() -> Record* { return nullptr; });
      if (result.answer != Table::Answer::matched) {
        std::this_thread::yield();
        continue;
      }
      if (result.record->number != next) out_of_order = true;
      ++next;
      ++received;
      pool.release(*result.record);
    }
  });
  EXPECT_FALSE(out_of_order);
  EXPECT_EQ(received, total);
}

TEST(RecordPoolStress, gives_each_record_to_one_owner) {
  RecordPool<Record> pool(100, false);
  std::atomic<std::size_t> uses{0};
  in_threads([&](int thread) {
    std::mt19937 random(static_cast<unsigned>(thread));
    std::vector<Record*> owned;
    for (int round = 0; round < kMatchingRounds; ++round) {
      if (random() % 2 == 0) {
        if (Record* record = pool.take(); record != nullptr) {
          ++record->number;
          ++uses;
          owned.push_back(record);
        }
      } else if (!owned.empty()) {
        pool.release(*owned.back());
        owned.pop_back();
      }
    }
    for (Record* record : owned) pool.release(*record);
  });
  std::size_t sum = 0;
  for (std::uint32_t index = 0; index < pool.made(); ++index)
    if (const Record* record = pool.find(index); record != nullptr) sum += record->number;
  EXPECT_EQ(sum, uses);
}

}  // namespace
}  // namespace weft::core
