// Threads that sleep on a device: what keeps them from it, and what wakes them.
#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "unit/clock/session/scripted_peer.hpp"

#include <sys/eventfd.h>

#include <chrono>
#include <thread>

namespace weft::network::session::test {
namespace {

class DeviceSleepers : public ScriptedPeer {
 protected:
  static constexpr std::chrono::seconds kLong{100};  // a hang guard

  DeviceSleepers() { greet(); }
  /// A thread sleeps for long while `act` is called once, and then returns whether it was woken.
  template <class Act>
  bool is_woken_by(const Act& act) {
    transport_.descriptor = never_.get();
    bool is_woken = false;
    std::thread sleeper(
        [&, token = device_->parking().token()] { is_woken = device_->park(token, 1, kLong); });
    while (!device_->parking().has_parked()) std::this_thread::yield();
    act();
    sleeper.join();
    return is_woken;
  }

  base::Descriptor never_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

TEST_F(DeviceSleepers, are_woken_by_what_the_courier_has_read) {
  EXPECT_TRUE(is_woken_by([&] {
    arrive_message(1);
    device_->carry();
  }));
  poll();
  EXPECT_EQ(sink_.words(), std::vector<std::uint64_t>{1});
}

TEST_F(DeviceSleepers, are_woken_by_accesses_that_the_courier_has_ended) {
  EXPECT_TRUE(is_woken_by([&] {
    transport_.on_drive = [](SessionDevice& device) { device.fetch_completed(3, Outcome::ok); };
    device_->carry();
    transport_.on_drive = nullptr;
  }));
  EXPECT_TRUE(is_woken_by([&] {
    transport_.on_drive = [](SessionDevice& device) { device.landed(3); };
    device_->carry();
    transport_.on_drive = nullptr;
  }));
}

TEST_F(DeviceSleepers, have_no_sleep_while_the_transport_has_something) {
  transport_.sleeps = false;
  transport_.descriptor = never_.get();
  EXPECT_TRUE(device_->park(device_->parking().token(), 1, kLong));
}

TEST_F(DeviceSleepers, look_after_the_transport_when_it_says_so) {
  transport_.descriptor = never_.get();
  transport_.sleep_limit = std::chrono::milliseconds(1);
  EXPECT_FALSE(device_->park(device_->parking().token(), 1, kLong));
}

TEST_F(DeviceSleepers, have_the_transport_prepared) {
  EXPECT_TRUE(device_->prepare_park());
  EXPECT_EQ(transport_.prepared, 1U);
}

TEST_F(DeviceSleepers, are_none_while_something_is_to_be_told_or_sent) {
  arrive(Kind::handles);
  EXPECT_FALSE(device_->prepare_park()) << "a refusal";
  poll();
  EXPECT_TRUE(device_->prepare_park());
  arrive_message(1);
  EXPECT_FALSE(device_->prepare_park()) << "a message";
  poll();
  EXPECT_TRUE(device_->prepare_park());
  board_.publish(1, 1, HandleState::open);
  transport_.refused = {Kind::handles};
  EXPECT_FALSE(device_->prepare_park()) << "handles without room";
  transport_.refused.clear();
  EXPECT_TRUE(device_->prepare_park());
  EXPECT_EQ(take_sent(Kind::handles).size(), 1U);
}

/// The clock stands just below a full second, so that a time behind it has a nanosecond above one.
TEST_F(DeviceSleepers, that_watch_no_descriptor_sleep_across_the_end_of_a_second) {
  const std::int64_t now = base::now_ns();
  clock_.advance(-(now % 1'000'000'000) - 1000);
  Parking& parking = device_->parking();
  std::thread watcher([&, token = parking.token()] { parking.park(never_.get(), token, 1, kLong); });
  while (!parking.has_parked()) std::this_thread::yield();
  // Either of the two may be the one that watches: both ends are by the time.
  EXPECT_FALSE(parking.park(never_.get(), parking.token(), 2, std::chrono::milliseconds(1)));
  parking.wake(1);
  watcher.join();
}

}  // namespace
}  // namespace weft::network::session::test
