// The gate by which a visitor enters what one thread uses without a lock.
#include "network/session/courier/serial_gate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "concurrent/process_barrier.hpp"

namespace weft::network::session {
namespace {

TEST(SessionSerialGate, lets_one_of_the_two_in) {
  ASSERT_TRUE(concurrent::has_private_barrier());
  SerialGate gate;
  ASSERT_TRUE(gate.enter());
  EXPECT_FALSE(gate.try_visit()) << "the owner is inside";
  gate.leave();
  ASSERT_TRUE(gate.try_visit());
  EXPECT_FALSE(gate.enter()) << "a visitor is inside";
  EXPECT_FALSE(gate.try_visit()) << "another visitor is inside";
  gate.end_visit();
  EXPECT_TRUE(gate.enter());
  gate.leave();
  EXPECT_TRUE(gate.try_visit());
  gate.end_visit();
}

TEST(SessionSerialGate, keeps_visitors_and_the_owner_apart) {
  ASSERT_TRUE(concurrent::has_private_barrier());
  constexpr std::uint64_t kVisits = 2000;
  SerialGate gate;
  std::uint64_t by_owner = 0;
  std::uint64_t sum = 0;  // no atomic: only who is inside changes it
  std::atomic<std::uint64_t> visits{0};
  const auto visit = [&] {
    while (visits.load() < kVisits) {
      if (!gate.try_visit()) continue;
      ++sum;
      ++visits;
      gate.end_visit();
    }
  };
  std::thread one(visit);
  std::thread other(visit);
  while (visits.load() < kVisits) {
    if (!gate.enter()) {
      std::this_thread::yield();
      continue;
    }
    ++sum;
    ++by_owner;
    gate.leave();
    if (by_owner % 16 == 0) std::this_thread::yield();
  }
  one.join();
  other.join();
  EXPECT_EQ(sum, by_owner + visits.load());
}

}  // namespace
}  // namespace weft::network::session
