#include "sockets/tcp_socket.hpp"

#include "base/parse.hpp"
#include "base/system_call.hpp"

#include <weft/error.hpp>

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace weft::sockets {

namespace {

constexpr int kWaiting = 4096;  // connections that the kernel keeps until they are accepted

void set(int socket, int level, int option, int value) noexcept {
  static_cast<void>(::setsockopt(socket, level, option, &value, sizeof value));
}

/// A socket for IPv6 and IPv4, or for IPv4 alone where the kernel has no IPv6.
base::Descriptor bind_to(std::uint16_t port) noexcept {
  constexpr int kType = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  for (const std::uint8_t family : {std::uint8_t{6}, std::uint8_t{4}}) {
    base::Descriptor socket(::socket(family == 6 ? AF_INET6 : AF_INET, kType, 0));
    if (!socket) continue;
    if (family == 6) set(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    // Otherwise the port of a job that has just ended would be refused for minutes.
    set(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    Address any;
    any.family = family;
    sockaddr_storage address;
    const socklen_t size = to_socket_address(any, port, address);
    if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0 &&
        ::listen(socket.get(), kWaiting) == 0)
      return socket;
    if (errno == EADDRINUSE) return {};
  }
  return {};
}

std::uint16_t port_of(int socket) noexcept {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

}  // namespace

PortRange parse_ports(std::string_view text) {
  if (text == "auto") return {};
  const std::size_t dash = text.find('-');
  const auto first = base::parse_integer(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : base::parse_integer(text.substr(dash + 1));
  const auto is_port = [](const auto& value) { return value.has_value() && *value > 0 && *value < 65536; };
  if (!is_port(first) || !is_port(last) || *first > *last)
    throw Error("ports \"" + std::string(text) +
                "\" (attribute ports, WEFT_PORTS) is no range of ports: it must be auto, or LO-HI with "
                "numbers from 1 to 65535, like 40000-40063");
  return {static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)};
}

Listener listen_in(const PortRange& ports) {
  for (std::uint32_t port = ports.first; port <= ports.last; ++port) {
    Listener listener{bind_to(static_cast<std::uint16_t>(port)), 0};
    if (!listener.socket) continue;
    listener.port = port_of(listener.socket.get());
    return listener;
  }
  if (ports.first == 0)
    throw Error("this rank cannot listen on any port: " + base::failed_call("bind", errno));
  throw Error("none of the " + std::to_string(ports.last - ports.first + 1) + " ports " +
              std::to_string(ports.first) + "-" + std::to_string(ports.last) +
              " (attribute ports, WEFT_PORTS) is free: each rank of a host needs one");
}

base::Descriptor begin_connect(const Address& address, std::uint16_t port) noexcept {
  base::Descriptor socket(
      ::socket(address.family == 6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return {};
  sockaddr_storage there;
  const socklen_t size = to_socket_address(address, port, there);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&there), size) == 0 || errno == EINPROGRESS)
    return socket;
  const int error = errno;
  socket.close();
  errno = error;
  return socket;
}

void set_options(int socket, double peer_timeout_seconds) noexcept {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  // Three probes within the time-out, the first after half of it: what is idle is noticed as well.
  const int seconds = std::max(static_cast<int>(peer_timeout_seconds), 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, std::clamp(seconds / 2, 1, 60));
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, std::clamp(seconds / 6, 1, 20));
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 1024 << 10);
}

void end_when_unanswered(int socket, double seconds) noexcept {
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(seconds * 1000));
}

int unacknowledged(int socket) noexcept {
  int bytes = 0;
  return ::ioctl(socket, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

void raise_file_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

}  // namespace weft::sockets
