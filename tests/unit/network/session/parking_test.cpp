// Who sleeps, and who is woken. Times are hang guards here: the sleeps would last much longer.
#include "network/session/parking.hpp"

#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
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

/// Whether the kernel has the thread asleep.
bool is_asleep(pid_t thread) {
  std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(stat)), std::istreambuf_iterator<char>());
  const std::size_t name_end = text.rfind(')');
  return name_end != text.npos && text.compare(name_end + 2, 1, "S") == 0;
}

/// A thread that is parked, asleep when the constructor returns.
class Parked {
 public:
  Parked(Parking& parking, int network, std::uint32_t bits)
      : thread_([&parking, network, bits, this] {
          id_ = static_cast<pid_t>(::syscall(SYS_gettid));
          is_woken_ = parking.park(network, parking.token(), bits, kGuard);
        }) {
    while (id_ == 0 || !is_asleep(id_)) std::this_thread::yield();
  }
  ~Parked() {
    if (thread_.joinable()) thread_.join();
  }
  Parked(const Parked&) = delete;
  Parked& operator=(const Parked&) = delete;
  /// Whether something else than the time has ended its sleep.
  bool was_woken() {
    thread_.join();
    return is_woken_;
  }

 private:
  static constexpr std::chrono::seconds kGuard{100};
  std::atomic<pid_t> id_{0};
  bool is_woken_ = false;
  std::thread thread_;
};

TEST(Parking, wakes_a_sleeper_to_watch_when_the_one_that_did_leaves) {
  Parking parking;
  Pipe network;
  Parked watches(parking, network.ends[0], 1);
  Parked sleeps(parking, network.ends[0], 2);
  EXPECT_EQ(::write(network.ends[1], "x", 1), 1);
  EXPECT_TRUE(watches.was_woken());
  EXPECT_TRUE(sleeps.was_woken()) << "nobody watched the network any more";
}

TEST(Parking, wakes_the_one_that_watches_and_those_of_the_same_bit) {
  Parking parking;
  Pipe network;
  Parked watches(parking, network.ends[0], 1);
  Parked sleeps(parking, network.ends[0], 2);
  parking.wake(2);
  EXPECT_TRUE(sleeps.was_woken());
  EXPECT_TRUE(watches.was_woken());
  EXPECT_FALSE(parking.has_parked());
}

TEST(Parking, tells_a_sleep_that_its_time_has_ended) {
  Parking parking;
  Pipe network;
  EXPECT_FALSE(parking.park(network.ends[0], parking.token(), 1, std::chrono::milliseconds(1)));
  parking.wake(1);
  EXPECT_FALSE(parking.park(network.ends[0], parking.token(), 1, std::chrono::milliseconds(1)))
      << "a wake-up before the sleep is no one of it";
  {
    Parked watches(parking, network.ends[0], 1);
    EXPECT_FALSE(parking.park(network.ends[0], parking.token(), 2, std::chrono::milliseconds(1)));
    parking.wake(1);
  }
  EXPECT_FALSE(parking.park(-1, parking.token(), 1, kLong)) << "where the network has no descriptor";
}

TEST(Parking, sleeps_shortly_where_the_network_has_no_descriptor) {
  Parking parking;
  parking.park(-1, parking.token(), 1, kLong);
}

}  // namespace
}  // namespace weft::network::session
