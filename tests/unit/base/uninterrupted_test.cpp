#include "base/uninterrupted.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace weft::base {
namespace {

/// While it lives, a handler without SA_RESTART runs in this thread 5,000 times a second.
class Alarms {
 public:
  Alarms() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &action, &before_);
    const itimerval often{{0, 200}, {0, 200}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~Alarms() {
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  struct sigaction before_ {};
};

TEST(UninterruptedTest, AReadWaitsForItsByteWhileSignalsCome) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const Alarms alarms;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // the handler runs in the thread that reads
  std::thread writer([&ends] {
    ::usleep(20'000);
    ASSERT_EQ(::write(ends[1], "x", 1), 1);
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  char byte = 0;
  EXPECT_EQ(uninterrupted([&] { return ::read(ends[0], &byte, 1); }), 1);
  EXPECT_EQ(byte, 'x');
  writer.join();
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(UninterruptedTest, OtherErrorsAreReturned) {
  char byte = 0;
  EXPECT_EQ(uninterrupted([&byte] { return ::read(-1, &byte, 1); }), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST(UninterruptedTest, AWaitEndsAtItsDeadlineHoweverOftenItIsInterrupted) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const Alarms alarms;
  pollfd wait{ends[0], POLLIN, 0};
  const Deadline deadline(0.05);
  EXPECT_EQ(poll_until({&wait, 1}, deadline), 0);
  EXPECT_TRUE(deadline.passed());
  EXPECT_FALSE(is_ready(ends[0], POLLIN));
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  EXPECT_EQ(poll_until({&wait, 1}, Deadline(100)), 1);
  EXPECT_TRUE(is_ready(ends[0], POLLIN));
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace weft::base
