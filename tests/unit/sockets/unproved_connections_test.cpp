// Connections that have proved nothing: who keeps a slot, who loses it, and what they cost.
#include "sockets/unproved_connections.hpp"

#include "base/clock.hpp"
#include "support/ranks.hpp"

#include <functional>

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace weft::sockets {
namespace {

using namespace std::chrono_literals;
using Progress = UnprovedConnections::Progress;
using Loss = UnprovedConnections::Loss;

constexpr std::size_t kPlaces = 4;
constexpr UnprovedConnections::Patience kPatience{.at_first = 1, .later = 60};

/// A greeting of three bytes: after the first the connection has passed a stage, after "..!" it has proved
/// itself. A second byte is nothing whole.
class UnprovedConnectionsTest : public testing::Test, protected UnprovedConnections::Owner {
 protected:
  UnprovedConnectionsTest()
      : connections_(listen_in({}, {}, FirstWord::of_listening), kPlaces, base::Log(), kPatience),
        texts_(kPlaces) {}

  bool begin(std::size_t slot) noexcept override {
    texts_[slot].clear();
    return true;
  }
  Progress read(std::size_t slot) noexcept override {
    char letter = 0;
    const ssize_t got = ::recv(connections_.socket(slot), &letter, 1, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return Progress::waits;
    if (got <= 0) return Progress::ended;
    texts_[slot] += letter;
    if (texts_[slot].size() == 1) return Progress::passed;
    if (letter != '!') return Progress::waits;
    proved_.push_back(connections_.take(slot));
    return Progress::proved;
  }
  void lose(std::size_t, Loss loss) noexcept override { (loss == Loss::late ? late_ : displaced_) += 1; }

  void serve() { connections_.serve(*this); }
  [[nodiscard]] bool has_work() const {
    pollfd readable{connections_.descriptor(), POLLIN, 0};
    return ::poll(&readable, 1, 0) == 1;
  }

  /// Who waits for the descriptor sleeps, for some time at least.
  void expect_rest() {
    serve_until([this] { return !has_work(); });
  }

  /// Connects from 127.0.0.`host`; the descriptor blocks.
  base::Descriptor connect(int host = 1) {
    base::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + static_cast<std::uint32_t>(host));
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    address.sin_port = htons(connections_.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return socket;
  }
  static void say(const base::Descriptor& socket, std::string_view text) {
    EXPECT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  static bool is_closed(const base::Descriptor& socket) {
    char letter = 0;
    const ssize_t got = ::recv(socket.get(), &letter, 1, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN);
  }
  void serve_until(const std::function<bool()>& condition) {
    EXPECT_TRUE(test::until(condition, [this] { serve(); }));
  }

  UnprovedConnections connections_;
  std::vector<std::string> texts_;  // by slot
  std::vector<base::Descriptor> proved_;
  int late_ = 0;
  int displaced_ = 0;
};

TEST_F(UnprovedConnectionsTest, the_oldest_that_is_silent_makes_room) {
  std::vector<base::Descriptor> silent;
  for (std::size_t count = 0; count < kPlaces; ++count) silent.push_back(connect());
  serve();
  silent.push_back(connect());
  serve_until([&] { return displaced_ == 1; });
  EXPECT_TRUE(is_closed(silent[0]));
  for (std::size_t index = 1; index < silent.size(); ++index) EXPECT_FALSE(is_closed(silent[index])) << index;
}

TEST_F(UnprovedConnectionsTest, one_source_does_not_push_out_another) {
  const base::Descriptor other = connect(2);
  serve();
  std::vector<base::Descriptor> many;
  for (std::size_t count = 0; count < 10 * kPlaces; ++count) {
    many.push_back(connect());
    serve();
  }
  serve_until([&] { return displaced_ == 9 * static_cast<int>(kPlaces) + 1; });
  EXPECT_FALSE(is_closed(other));
  say(other, "a!");
  serve_until([&] { return proved_.size() == 1; });
}

TEST_F(UnprovedConnectionsTest, who_has_passed_a_stage_outstays_those_that_are_silent) {
  const base::Descriptor first = connect();
  say(first, "a");
  serve_until([&] { return texts_[0] == "a"; });
  std::vector<base::Descriptor> silent;
  for (std::size_t count = 0; count < 10 * kPlaces; ++count) {
    silent.push_back(connect());
    serve();
  }
  say(first, "!");
  serve_until([&] { return proved_.size() == 1; });
}

TEST_F(UnprovedConnectionsTest, who_comes_while_all_are_greeting_waits) {
  std::vector<base::Descriptor> greeting;
  for (std::size_t count = 0; count < kPlaces; ++count) {
    greeting.push_back(connect());
    say(greeting.back(), "a");
    serve_until([&] { return texts_[count] == "a"; });
  }
  const base::Descriptor next = connect();
  say(next, "a!");
  for (int count = 0; count < 3; ++count) serve();
  EXPECT_EQ(displaced_, 0);
  expect_rest();  // nothing is done again and again until there is room
  say(greeting[2], "!");
  serve_until([&] { return proved_.size() == 2; });
  EXPECT_EQ(displaced_, 0);
}

TEST_F(UnprovedConnectionsTest, a_byte_now_and_then_is_no_greeting) {
  const base::Descriptor slow = connect();
  const base::Descriptor silent = connect();
  say(slow, "a");
  serve_until([&] { return texts_[0] == "a" || texts_[1] == "a"; });
  const auto guard = std::chrono::steady_clock::now() + 100s;
  while (!is_closed(silent) && std::chrono::steady_clock::now() < guard) {
    std::this_thread::sleep_for(100ms);
    serve();
  }
  EXPECT_EQ(late_, 1);
  EXPECT_FALSE(is_closed(slow));  // later stages have more time: a peer may be busy
}

TEST_F(UnprovedConnectionsTest, nobody_grows_older_while_nobody_serves) {
  const base::Descriptor own = connect();
  serve();
  std::this_thread::sleep_for(2s);  // longer than anybody may be silent
  serve();
  EXPECT_EQ(late_, 0);
  say(own, "a!");
  serve_until([&] { return proved_.size() == 1; });
}

TEST_F(UnprovedConnectionsTest, strangers_that_are_silent_cause_no_work) {
  std::vector<base::Descriptor> silent;
  for (std::size_t count = 0; count < 50; ++count) silent.push_back(connect());
  // Those that do not fit wait, or have lost their slots.
  for (int count = 0; count < 10; ++count) serve();
  expect_rest();
}

TEST_F(UnprovedConnectionsTest, who_comes_again_and_again_is_slowed_down_and_the_job_goes_on) {
  // More than are accepted at once.
  for (int round = 0; round < 200; ++round) {
    const base::Descriptor stranger = connect();
    serve();
  }
  expect_rest();
  const base::Descriptor own = connect();
  say(own, "a!");
  serve_until([&] { return proved_.size() == 1; });
}

TEST_F(UnprovedConnectionsTest, a_lack_of_descriptors_is_told_once_and_waited_for) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "UndefinedBehaviorSanitizer needs descriptors of its own to look at types";
#endif
  const base::Descriptor own = connect();
  say(own, "a!");
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  testing::internal::CaptureStderr();
  const base::Descriptor next(::fcntl(own.get(), F_DUPFD_CLOEXEC, 0));  // the first that is free
  rlimit none = limit;
  none.rlim_cur = static_cast<rlim_t>(next.get()) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  serve();
  expect_rest();
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(300ms);  // until it tries again
    serve();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("Too many open files"), std::string::npos) << told;
  EXPECT_EQ(told.find("have to wait"), told.rfind("have to wait")) << told;
  serve_until([&] { return proved_.size() == 1; });
}

}  // namespace
}  // namespace weft::sockets
