// Joins two network namespaces by a link with a delay: delayed_link PID PID MICROSECONDS. Makes an interface
// "far" in the namespace of each of the two processes, says "ready", and passes packets on, each after the
// delay, until its standard input ends.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongest = 65536;
constexpr std::size_t kMostWaiting = std::size_t{256}
                                     << 20;  // bytes; further packets are lost, as in a switch

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "delayed_link: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

int open_in(const char* process) {
  const std::string path = std::string("/proc/") + process + "/ns/net";
  const int space = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (space < 0 || ::setns(space, CLONE_NEWNET) != 0) fail(path);
  ::close(space);
  const int link = ::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  std::strcpy(request.ifr_name, "far");
  if (link < 0 || ::ioctl(link, TUNSETIFF, &request) != 0) fail("/dev/net/tun");
  return link;
}

struct Packet {
  Clock::time_point due;
  std::vector<std::byte> bytes;
};

/// One direction.
void pass_on(int from, int to, std::chrono::microseconds delay) {
  std::deque<Packet> waiting;
  std::size_t bytes = 0;
  std::vector<std::byte> room(kLongest);
  for (;;) {
    for (int reads = 0; reads < 64; ++reads) {
      const ssize_t got = ::read(from, room.data(), room.size());
      if (got <= 0) break;
      if (bytes > kMostWaiting) continue;
      bytes += static_cast<std::size_t>(got);
      waiting.push_back({Clock::now() + delay, {room.begin(), room.begin() + got}});
    }
    const auto now = Clock::now();
    while (!waiting.empty() && waiting.front().due <= now) {
      bytes -= waiting.front().bytes.size();
      if (::write(to, waiting.front().bytes.data(), waiting.front().bytes.size()) < 0 && errno == EIO)
        std::fprintf(stderr, "delayed_link: an interface is down\n");
      waiting.pop_front();
    }
    pollfd events{from, POLLIN, 0};
    timespec limit{3600, 0};
    if (!waiting.empty()) {
      const auto left = std::chrono::nanoseconds(waiting.front().due - Clock::now()).count();
      limit = {0, left > 0 ? static_cast<long>(left) : 0};
    }
    static_cast<void>(::ppoll(&events, 1, &limit, nullptr));
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::fprintf(stderr, "usage: delayed_link PID PID MICROSECONDS\n");
    return 2;
  }
  const int one = open_in(arguments[1]);
  const int other = open_in(arguments[2]);
  const std::chrono::microseconds delay(std::atol(arguments[3]));
  std::thread(pass_on, one, other, delay).detach();
  std::thread(pass_on, other, one, delay).detach();
  std::puts("ready");
  std::fflush(stdout);
  char nothing = 0;
  while (::read(STDIN_FILENO, &nothing, 1) > 0) {
  }
  std::_Exit(0);
}
