#include "bootstrap/launchers/environment/whole_messages.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace weft::bootstrap::contact {

int limit_of(const base::Deadline& deadline) {
  constexpr std::int64_t kLongest = 1000;
  return static_cast<int>(std::min(deadline.remaining_ms(), kLongest));
}

bool send_all(int socket, std::span<const std::byte> bytes, const base::Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) bytes = bytes.subspan(static_cast<std::size_t>(sent));
    if (sent >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN || deadline.passed()) return false;
    pollfd room{socket, POLLOUT, 0};
    ::poll(&room, 1, limit_of(deadline));
  }
  return true;
}

bool receive_all(int socket, std::span<std::byte> bytes, const base::Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
    if (got > 0 || (got < 0 && errno == EINTR)) continue;
    if (got == 0 || errno != EAGAIN || deadline.passed()) return false;
    pollfd readable{socket, POLLIN, 0};
    ::poll(&readable, 1, limit_of(deadline));
  }
  return true;
}

}  // namespace weft::bootstrap::contact
