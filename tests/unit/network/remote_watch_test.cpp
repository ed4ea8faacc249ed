#include "network/mixed/remote_watch.hpp"

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <sys/eventfd.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace weft::network::mixed {
namespace {

class Event {
 public:
  Event() : descriptor_(::eventfd(0, EFD_NONBLOCK)) {}
  ~Event() { ::close(descriptor_); }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  void ring() {
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(descriptor_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }
  void read() {
    std::uint64_t count = 0;
    ASSERT_EQ(::read(descriptor_, &count, sizeof count), static_cast<ssize_t>(sizeof count));
  }

 private:
  const int descriptor_;
};

TEST(RemoteWatch, wakes_once_for_each_time_that_it_is_armed) {
  Event event;
  std::atomic<int> woken{0};
  RemoteWatch watch([&] { ++woken; });
  for (int round = 1; round <= 20; ++round) {
    ASSERT_TRUE(watch.arm(event.descriptor()));
    ASSERT_TRUE(watch.arm(event.descriptor())) << "by another thread that goes to sleep";
    EXPECT_EQ(woken, round - 1);
    event.ring();
    ASSERT_TRUE(weft::test::until([&] { return woken == round; }, [] { std::this_thread::yield(); }));
    event.read();
  }
}

TEST(RemoteWatch, wakes_at_once_when_the_descriptor_is_readable_already) {
  Event event;
  std::atomic<int> woken{0};
  RemoteWatch watch([&] { ++woken; });
  event.ring();
  ASSERT_TRUE(watch.arm(event.descriptor()));
  ASSERT_TRUE(weft::test::until([&] { return woken == 1; }, [] { std::this_thread::yield(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(woken, 1) << "nobody has armed it again";
}

TEST(RemoteWatch, ends_while_it_waits_or_was_never_armed) {
  Event event;
  {
    const RemoteWatch watch([] { ADD_FAILURE() << "nothing was readable"; });
  }
  for (int round = 0; round < 50; ++round) {
    RemoteWatch watch([] { ADD_FAILURE() << "nothing was readable"; });
    ASSERT_TRUE(watch.arm(event.descriptor()));
  }
}

}  // namespace
}  // namespace weft::network::mixed
