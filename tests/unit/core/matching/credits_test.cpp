#include "core/matching/credits.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace weft::core {
namespace {

TEST(Credits, are_taken_up_to_the_limit_and_given_back) {
  Credits credits(2, 10);
  EXPECT_EQ(credits.take_up_to(8, 1, 0, false), 8U);
  EXPECT_EQ(credits.take_up_to(8, 1, 0, false), 2U);
  EXPECT_EQ(credits.take_up_to(8, 1, 0, false), 0U);
  EXPECT_EQ(credits.take_up_to(8, 0, 0, false), 8U) << "each peer has its own";
  EXPECT_EQ(credits.take_up_to(8, 1, 200, false), 8U) << "each device too";
  EXPECT_TRUE(credits.give(1, 0, 4, false));
  EXPECT_EQ(credits.take_up_to(8, 1, 0, false), 4U);
}

TEST(Credits, are_not_given_back_more_often_than_they_were_taken) {
  Credits credits(1, 10);
  EXPECT_FALSE(credits.give(0, 0, 1, false));
  EXPECT_EQ(credits.take_up_to(3, 0, 0, false), 3U);
  EXPECT_FALSE(credits.give(0, 0, 4, false));
  EXPECT_TRUE(credits.give(0, 0, 3, false));
}

TEST(Credits, are_raised_by_what_a_peer_grants) {
  Credits credits(2, 10);
  EXPECT_TRUE(credits.raise(1, 0, 5));
  EXPECT_EQ(credits.take_up_to(20, 1, 0, false), 15U);
  EXPECT_EQ(credits.take_up_to(20, 0, 0, false), 10U) << "of that peer";
  EXPECT_TRUE(credits.raise(1, 0, Credits::kMostExtra - 5));
  EXPECT_FALSE(credits.raise(1, 0, 1));
}

class CreditLedgerTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(credits, CreditLedgerTest, testing::Bool(),
                         [](const auto& exclusive) { return exclusive.param ? "exclusive" : "shared"; });

TEST_P(CreditLedgerTest, returns_an_eighth_of_the_limit_at_a_time_however_messages_are_counted) {
  for (const std::uint32_t step : {1U, 3U, 7U, 8U, 16U, 40U}) {
    SCOPED_TRACE(step);
    std::atomic<std::uint32_t> kept{0};
    CreditLedger ledger(1, 0, 64, kept);
    std::uint32_t consumed = 0;
    std::uint32_t returned = 0;
    while (consumed < 1000) {
      const std::uint32_t due = ledger.consume(0, 5, step, GetParam());
      EXPECT_EQ(due % 8, 0U);
      consumed += step;
      returned += due;
      EXPECT_LT(consumed - returned, 8U);
    }
  }
}

TEST_P(CreditLedgerTest, of_few_credits_returns_each_at_once) {
  std::atomic<std::uint32_t> kept{0};
  CreditLedger ledger(1, 0, 4, kept);
  EXPECT_EQ(ledger.consume(0, 0, 1, GetParam()), 1U);
  EXPECT_EQ(ledger.consume(0, 0, 3, GetParam()), 3U);
}

TEST(CreditLedger, admits_as_many_waiting_messages_as_there_are_credits) {
  std::atomic<std::uint32_t> kept{0};
  CreditLedger ledger(2, 0, 3, kept);
  for (int count = 0; count < 3; ++count) EXPECT_TRUE(ledger.admit(1, 0));
  EXPECT_FALSE(ledger.admit(1, 0));
  EXPECT_TRUE(ledger.admit(0, 0)) << "each peer has its own";
  ledger.forget(1, 0);
  EXPECT_TRUE(ledger.admit(1, 0));
  EXPECT_FALSE(ledger.admit(1, 0));
}

TEST(CreditLedger, grants_more_up_to_a_bound_and_then_admits_as_many) {
  std::atomic<std::uint32_t> kept{0};
  CreditLedger ledger(2, 0, 16, kept);
  EXPECT_EQ(ledger.raise(1, 0, 8, 30), 8U);
  EXPECT_EQ(ledger.raise(1, 0, 8, 30), 6U);
  EXPECT_EQ(ledger.raise(1, 0, 8, 30), 0U);
  for (int count = 0; count < 30; ++count) EXPECT_TRUE(ledger.admit(1, 0)) << count;
  EXPECT_FALSE(ledger.admit(1, 0));
  for (int count = 0; count < 16; ++count) EXPECT_TRUE(ledger.admit(0, 0)) << "each peer has its own";
  EXPECT_FALSE(ledger.admit(0, 0));
}

TEST(CreditLedger, grants_nothing_more_while_messages_wait_for_their_receives) {
  std::atomic<std::uint32_t> kept{0};
  CreditLedger ledger(1, 0, 16, kept);
  for (int count = 0; count < 3; ++count) EXPECT_TRUE(ledger.admit(0, 0));
  EXPECT_EQ(ledger.raise(0, 0, 8, 100), 0U);
  ledger.forget(0, 0);
  EXPECT_EQ(ledger.raise(0, 0, 8, 100), 8U);
  ledger.lower(0, 0, 8);
  for (int count = 2; count < 16; ++count) EXPECT_TRUE(ledger.admit(0, 0));
  EXPECT_FALSE(ledger.admit(0, 0));
}

TEST(CreditLedger, settles_what_waited_and_lets_another_one_wait) {
  std::atomic<std::uint32_t> kept{0};
  CreditLedger ledger(1, 0, 64, kept);  // returned eight at a time
  for (int count = 0; count < 64; ++count) EXPECT_TRUE(ledger.admit(0, 0));
  EXPECT_FALSE(ledger.admit(0, 0));
  std::uint32_t returned = 0;
  for (int count = 0; count < 20; ++count) returned += ledger.consume_waiting(0, 0);
  EXPECT_EQ(returned, 16U);
  returned += ledger.consume(0, 0, 4, false);
  EXPECT_EQ(returned, 24U) << "with what has met its receive at once";
  EXPECT_EQ(ledger.arrivals().waiting, 44U);
  EXPECT_EQ(ledger.arrivals().all, 44U + 24U);
  for (int count = 0; count < 20; ++count) EXPECT_TRUE(ledger.admit(0, 0));
  EXPECT_FALSE(ledger.admit(0, 0));
}

TEST(CreditLedger, counts_what_one_thread_admits_and_another_settles_for_as_long_as_they_like) {
  constexpr std::uint32_t kLimit = 1U << 16;
  constexpr std::uint32_t kBatch = kLimit / 8;
  std::atomic<std::uint32_t> kept{0};
  CreditLedger ledger(1, 0, kLimit, kept);
  std::uint64_t consumed = 0;
  std::uint64_t returned = 0;
  // More than each thread's own word has room for.
  for (int round = 0; round < 300; ++round) {
    for (std::uint32_t count = 0; count < kLimit; count += 64) ASSERT_TRUE(ledger.admit(0, 0, 64));
    EXPECT_FALSE(ledger.admit(0, 0)) << "round " << round;
    std::thread([&] {
      for (std::uint32_t count = 0; count < kLimit; ++count) returned += ledger.consume_waiting(0, 0);
      EXPECT_TRUE(ledger.admit(0, 0));
      ledger.forget(0, 0);
    }).join();
    consumed += kLimit;
    ASSERT_EQ(ledger.arrivals().waiting, 0U);
    ASSERT_EQ(ledger.arrivals().all, consumed);
    ASSERT_LT(consumed - returned, 2 * kBatch);
  }
  // And the other way round.
  for (int round = 0; round < 300; ++round) {
    std::thread([&] {
      for (std::uint32_t count = 0; count < kLimit; count += 64) ASSERT_TRUE(ledger.admit(0, 0, 64));
      EXPECT_FALSE(ledger.admit(0, 0)) << "round " << round;
    }).join();
    for (std::uint32_t count = 0; count < kLimit; ++count) returned += ledger.consume_waiting(0, 0);
    consumed += kLimit;
    ASSERT_EQ(ledger.arrivals().waiting, 0U);
    ASSERT_EQ(ledger.arrivals().all, consumed);
    ASSERT_LT(consumed - returned, 2 * kBatch);
  }
}

/// Each thread is a peer's sender, arrival and receive in one: it sends only with a credit that has come
/// back.
TEST(CreditLedger, never_refuses_a_message_that_has_a_credit_whichever_threads_count) {
  constexpr std::uint32_t kLimit = 24;
  constexpr int kThreads = 4;
  std::atomic<std::uint32_t> kept{0};
  CreditLedger ledger(1, 0, kLimit, kept);
  std::atomic<std::int64_t> credits{kLimit};
  std::atomic<std::int64_t> waiting{0};
  std::atomic<int> refused{0};
  std::atomic<std::uint64_t> consumed{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      std::minstd_rand random(static_cast<unsigned>(thread) + 1);
      const auto take_one = [](std::atomic<std::int64_t>& from) {
        std::int64_t value = from.load();
        while (value > 0)
          if (from.compare_exchange_weak(value, value - 1)) return true;
        return false;
      };
      for (int step = 0; step < 50'000; ++step) {
        if (random() % 2 == 0 && take_one(credits)) {
          if (ledger.admit(0, 0))
            waiting.fetch_add(1);
          else
            refused.fetch_add(1);
        } else if (take_one(waiting)) {
          consumed.fetch_add(1);
          credits.fetch_add(ledger.consume_waiting(0, 0));
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused.load(), 0);
  EXPECT_EQ(ledger.arrivals().waiting, static_cast<std::uint64_t>(waiting.load()));
  EXPECT_EQ(ledger.arrivals().all, consumed.load() + static_cast<std::uint64_t>(waiting.load()));
  EXPECT_GT(consumed.load(), 0U);
}

/// Long enough that the first thread's word is brought back while the other one counts.
TEST(CreditLedger, refuses_nothing_while_one_thread_admits_and_another_settles) {
  constexpr std::uint32_t kLimit = 4096;
  constexpr std::uint64_t kMessages = 10'000'000;
  std::atomic<std::uint32_t> kept{0};
  CreditLedger ledger(1, 0, kLimit, kept);
  ASSERT_TRUE(ledger.admit(0, 0));  // the word of the first thread is this one's
  ledger.forget(0, 0);
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> returned{0};
  std::thread receiver([&] {
    for (std::uint64_t consumed = 0; consumed < kMessages; ++consumed) {
      while (sent.load(std::memory_order_acquire) == consumed) std::this_thread::yield();
      if (const std::uint32_t credits = ledger.consume_waiting(0, 0); credits != 0)
        returned.store(returned.load(std::memory_order_relaxed) + credits, std::memory_order_release);
      // And admits and forgets some of its own, which has to look at both words.
      if (consumed % 64 == 0 && ledger.admit(0, 0)) ledger.forget(0, 0);
    }
  });
  std::uint64_t refused = 0;
  for (std::uint64_t number = 0; number < kMessages; ++number) {
    while (number - returned.load(std::memory_order_acquire) == kLimit - 1) std::this_thread::yield();
    if (!ledger.admit(0, 0)) ++refused;
    sent.store(number + 1, std::memory_order_release);
  }
  receiver.join();
  EXPECT_EQ(refused, 0U);
  EXPECT_EQ(ledger.arrivals().waiting, 0U);
  EXPECT_EQ(ledger.arrivals().all, kMessages);
}

TEST(CreditLedgers, keep_a_ledger_for_each_class) {
  CreditLedgers ledgers(1, 7, 2);
  for (const MessageClass each : {MessageClass::normal, MessageClass::control, MessageClass::bulk}) {
    CreditLedger& ledger = ledgers.of(each);
    EXPECT_EQ(ledger.message_class(), static_cast<std::uint8_t>(each));
    EXPECT_EQ(ledger.device(), 7U);
    for (int count = 0; count < 2; ++count) EXPECT_TRUE(ledger.admit(0, 0));
    EXPECT_FALSE(ledger.admit(0, 0));
  }
  EXPECT_FALSE(ledgers.has_kept());
  ledgers.of(MessageClass::bulk).keep(0, 3, 5);
  ledgers.of(MessageClass::control).keep(0, 3, 1);
  EXPECT_TRUE(ledgers.has_kept());
  std::uint32_t returned = 0;
  for (CreditLedger& ledger : ledgers.all())
    ledger.collect([&](int, std::uint8_t device, std::uint32_t count) {
      EXPECT_EQ(device, 3);
      EXPECT_EQ(count, ledger.message_class() == static_cast<std::uint8_t>(MessageClass::bulk) ? 5U : 1U);
      returned += count;
      return true;
    });
  EXPECT_EQ(returned, 6U);
  EXPECT_FALSE(ledgers.has_kept());
}

}  // namespace
}  // namespace weft::core
