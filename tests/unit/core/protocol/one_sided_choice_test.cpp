// The choices and counts behind puts and gets that can be looked at alone.
#include "core/protocol/one_sided/access_request.hpp"
#include "core/protocol/one_sided/flush.hpp"
#include "core/protocol/one_sided/signal.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace weft::core {
namespace {

TEST(SelectSignal, takes_the_immediate_only_when_everything_fits) {
  struct Case {
    SignalFacts facts;
    SignalBy expected;
  };
  for (const Case& row :
       {Case{{false, true, 8, 0, 0}, SignalBy::nothing}, Case{{true, true, 8, 0, 0}, SignalBy::immediate},
        Case{{true, true, 8, 0xffff, 0xffff}, SignalBy::immediate},
        Case{{true, true, 16, 1, 1}, SignalBy::immediate},
        Case{{true, true, 8, 0x10000, 0}, SignalBy::message},
        Case{{true, true, 8, 0, 0x10000}, SignalBy::message}, Case{{true, true, 4, 0, 0}, SignalBy::message},
        Case{{true, true, 0, 0, 0}, SignalBy::message}, Case{{true, false, 8, 0, 0}, SignalBy::message},
        Case{{false, false, 8, 0, 0}, SignalBy::nothing}})
    EXPECT_EQ(select_signal(row.facts), row.expected)
        << row.facts.immediate_bytes << " " << row.facts.rank << " " << row.facts.tag;
}

TEST(SelectSignal, puts_handle_rank_and_tag_into_the_immediate) {
  constexpr RemoteCompletion signal(0xfedc, 0x8001, 7);
  constexpr std::uint64_t immediate = immediate_of(signal, 0xabcd, 0x1234);
  EXPECT_EQ(immediate, 0xfedc8001abcd1234U);
  EXPECT_EQ(rank_of_immediate(immediate), 0xabcd);
  EXPECT_EQ(word_of_immediate(immediate), detail::handle_word(signal, 0x1234));
}

TEST(RequestWord, tells_refused_before_lost) {
  using namespace request_word;
  EXPECT_EQ(outcome_of(0), Outcome::ok);
  EXPECT_EQ(outcome_of(kLost), Outcome::peer_failed);
  EXPECT_EQ(outcome_of(kLost | kRefused), Outcome::refused);
  EXPECT_EQ(generation_of(std::uint64_t{0xffffffff} << 32 | kUnderWay), 0xffffffffU);
  EXPECT_EQ(kUnderWay & (kRefused | kLost), 0U) << "how it ended does not keep a request";
}

TEST(Flushes, wait_for_what_was_counted_before_and_nothing_else) {
  Flushes flushes(2);
  EXPECT_TRUE(flushes.is_over(0, flushes.begin(0)));
  const std::uint8_t first = flushes.enter(0);
  const std::uint8_t elsewhere = flushes.enter(1);
  const std::uint32_t flush = flushes.begin(0);
  EXPECT_FALSE(flushes.is_over(0, flush));
  // Others go on posting: the flush ends all the same.
  std::vector<std::uint8_t> others;
  for (int count = 0; count < 10; ++count) others.push_back(flushes.enter(0));
  EXPECT_FALSE(flushes.is_over(0, flush));
  flushes.leave(0, first);
  for (std::size_t round = 0; round < 40; ++round) {
    const std::uint8_t next = flushes.enter(0);
    static_cast<void>(flushes.is_over(0, flush));
    flushes.leave(0, others[round % others.size()]);
    others[round % others.size()] = next;
  }
  EXPECT_TRUE(flushes.is_over(0, flush));
  const std::uint32_t later = flushes.begin(0);
  EXPECT_FALSE(flushes.is_over(0, later));
  for (const std::uint8_t epoch : others) flushes.leave(0, epoch);
  EXPECT_TRUE(flushes.is_over(0, later));
  EXPECT_FALSE(flushes.is_over(1, flushes.begin(1)));
  flushes.leave(1, elsewhere);
}

TEST(Flushes, of_many_threads_see_what_each_has_done) {
  Flushes flushes(1);
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  // Each access is ended by another thread than the one that flushes, after it has written its place.
  std::uint64_t places[kThreads] = {};
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (std::uint64_t round = 1; round <= 500; ++round) {
        const std::uint8_t epoch = flushes.enter(0);
        std::thread other([&] {
          places[thread] = round;
          flushes.leave(0, epoch);
        });
        const std::uint32_t flush = flushes.begin(0);
        while (!flushes.is_over(0, flush)) std::this_thread::yield();
        EXPECT_EQ(places[thread], round);
        other.join();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weft::core
