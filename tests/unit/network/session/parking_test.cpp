// Who sleeps, and who is woken. Times are hang guards here: the sleeps would last much longer.
#include "network/session/parking.hpp"

#include <gtest/gtest.h>

#include <unistd.h>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace weft::network::session {
namespace {

constexpr std::chrono::nanoseconds kLong = std::chrono::hours(1);

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe(ends), 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  int ends[2] = {-1, -1};
};

TEST(Parking, returns_when_the_network_has_something) {
  Parking parking;
  Pipe network;
  std::thread writer([&] {
    while (!parking.has_parked()) std::this_thread::yield();
    EXPECT_EQ(::write(network.ends[1], "x", 1), 1);
  });
  parking.park(network.ends[0], parking.token(), 1, kLong);
  writer.join();
  EXPECT_FALSE(parking.has_parked());
}

TEST(Parking, returns_at_once_when_it_was_woken_before) {
  Parking parking;
  Pipe network;
  const std::uint32_t token = parking.token();
  parking.wake(1);
  parking.park(network.ends[0], token, 1, kLong);
}

TEST(Parking, wakes_every_thread) {
  Parking parking;
  Pipe network;
  std::atomic<int> awake{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      const std::uint32_t token = parking.token();
      parking.park(network.ends[0], token, 1U << thread, kLong);
      ++awake;
    });
  while (awake < 4) {
    parking.wake(~0U);
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Parking, has_another_thread_watch_when_the_one_that_did_leaves) {
  Parking parking;
  Pipe first;
  Pipe second;
  std::atomic<bool> watching{false};
  std::thread leaves([&] {
    watching = true;
    parking.park(first.ends[0], parking.token(), 1, kLong);
  });
  while (!watching || !parking.has_parked()) std::this_thread::yield();
  std::atomic<bool> done{false};
  std::thread stays([&] {
    // As DeviceState::wait does: parks again until what it waits for is there.
    while (!done) parking.park(second.ends[0], parking.token(), 2, kLong);
  });
  EXPECT_EQ(::write(first.ends[1], "x", 1), 1);
  leaves.join();
  done = true;
  EXPECT_EQ(::write(second.ends[1], "x", 1), 1);
  stays.join();
}

TEST(Parking, sleeps_shortly_where_the_network_has_no_descriptor) {
  Parking parking;
  parking.park(-1, parking.token(), 1, kLong);
}

}  // namespace
}  // namespace weft::network::session
