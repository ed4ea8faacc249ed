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
  constexpr RemoteCompletion nobody;
  constexpr RemoteCompletion near(0xff, 0xff, 7);
  constexpr RemoteCompletion any(0xffff, 0xffff, 255);
  for (const Case& row :
       {Case{{nobody, 0, true, 8}, SignalBy::nothing}, Case{{nobody, 0, false, 8}, SignalBy::nothing},
        Case{{any, 0xffffffff, true, 8}, SignalBy::immediate}, Case{{any, 1, true, 16}, SignalBy::immediate},
        Case{{near, 0xffff, true, 4}, SignalBy::immediate}, Case{{near, 0x10000, true, 4}, SignalBy::message},
        Case{{{0x100, 1, 0}, 0, true, 4}, SignalBy::message},
        Case{{{0, 0x100, 0}, 0, true, 4}, SignalBy::message}, Case{{near, 0, true, 0}, SignalBy::message},
        Case{{near, 0, false, 8}, SignalBy::message}})
    EXPECT_EQ(select_signal(row.facts), row.expected)
        << row.facts.immediate_bytes << " " << row.facts.signal.bits() << " " << row.facts.tag;
}

TEST(SelectSignal, puts_handle_and_tag_into_the_immediate) {
  constexpr SignalFacts wide{{0xfedc, 0x8001, 7}, 0x12345678, true, 8};
  EXPECT_EQ(immediate_of(wide), 0xfedc800112345678U);
  EXPECT_EQ(word_of_immediate(immediate_of(wide), 8), detail::handle_word(wide.signal, wide.tag));
  constexpr SignalFacts narrow{{0xfe, 0x81, 7}, 0x1234, true, 4};
  EXPECT_EQ(immediate_of(narrow), 0xfe811234U);
  EXPECT_EQ(word_of_immediate(immediate_of(narrow), 4), detail::handle_word(narrow.signal, narrow.tag));
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
