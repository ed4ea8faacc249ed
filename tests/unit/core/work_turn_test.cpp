// The turn of the thread that works in a device, and threads that want something of each other's devices.
#include "core/device/parts/work_turn.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace weft::core {
namespace {

void enter(WorkTurn& turn) {
  while (!turn.enter(concurrent::thread_number())) std::this_thread::yield();
}

TEST(WorkTurn, calls_at_once_where_nobody_is_inside_and_tells_who_is) {
  WorkTurn turn;
  std::vector<bool> calls;
  turn.call_inside([&](bool may_remove) {
    calls.push_back(may_remove);
    turn.call_inside([&](bool inner) { calls.push_back(inner); });
  });
  turn.call_inside([&](bool may_remove) { calls.push_back(may_remove); });
  EXPECT_EQ(calls, (std::vector<bool>{true, false, true}));
}

TEST(WorkTurn, is_awaited_while_another_thread_is_inside) {
  WorkTurn turn;
  std::atomic<bool> is_inside{true};
  enter(turn);
  std::thread other([&] {
    turn.call_inside([&](bool may_remove) {
      EXPECT_TRUE(may_remove);
      EXPECT_FALSE(is_inside.load());
    });
  });
  for (int round = 0; round < 100; ++round) std::this_thread::yield();
  is_inside = false;
  turn.leave();
  other.join();
}

/// Threads in a ring: each is inside of its turn, and wants something of the next one's.
void expect_all_granted(std::size_t threads, bool is_nested) {
  std::vector<WorkTurn> turns(2 * threads);
  std::vector<std::atomic<int>> granted(threads);
  std::latch all_inside(static_cast<std::ptrdiff_t>(threads));
  std::vector<std::thread> running;
  for (std::size_t own = 0; own < threads; ++own)
    running.emplace_back([&, own] {
      enter(turns[own]);
      if (is_nested) enter(turns[threads + own]);
      all_inside.arrive_and_wait();
      turns[(own + 1) % threads].call_inside([&](bool) { ++granted[own]; });
      if (is_nested) turns[threads + own].leave();
      turns[own].leave();
    });
  for (std::thread& thread : running) thread.join();
  for (const std::atomic<int>& each : granted) EXPECT_EQ(each.load(), 1);
}

TEST(WorkTurn, is_granted_by_who_waits_for_the_turn_of_who_waits) {
  for (int round = 0; round < 100; ++round) expect_all_granted(2, false);
}

TEST(WorkTurn, is_granted_in_rings_of_more_and_by_who_is_inside_of_several) {
  for (int round = 0; round < 30; ++round) {
    expect_all_granted(3, false);
    expect_all_granted(4, true);
  }
}

TEST(WorkTurn, is_granted_by_who_waits_until_who_waits_has_left) {
  for (int round = 0; round < 100; ++round) {
    WorkTurn wanted;
    WorkTurn awaited;
    std::latch all_inside(2);
    std::thread other([&] {
      enter(awaited);
      all_inside.arrive_and_wait();
      wanted.call_inside([](bool) {});
      awaited.leave();
    });
    enter(wanted);
    all_inside.arrive_and_wait();
    awaited.await_exit(concurrent::thread_number());
    wanted.leave();
    other.join();
  }
}

}  // namespace
}  // namespace weft::core
