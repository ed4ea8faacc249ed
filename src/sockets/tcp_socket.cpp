#include "sockets/tcp_socket.hpp"

#include "base/system_call.hpp"
#include "base/text/parse.hpp"

#include <weft/error.hpp>

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

namespace weft::sockets {

namespace {

constexpr int kWaiting = 4096;  // connections that the kernel keeps until they are accepted
constexpr int kSilence = 5;     // seconds for which the kernel keeps those that have not sent anything
constexpr std::uint32_t kPortsTried = 64;  // that the kernel has chosen, until one is free at all addresses

void set(int socket, int level, int option, int value) noexcept {
  static_cast<void>(::setsockopt(socket, level, option, &value, sizeof value));
}

/// A socket that listens at the address; an empty descriptor, and errno, when it cannot. `both_families`: the
/// address is that of all, of IPv6 and IPv4.
base::Descriptor bind_to(const Address& address, std::uint16_t port, bool both_families,
                         FirstWord first) noexcept {
  base::Descriptor socket(
      ::socket(address.family == 6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return {};
  if (address.family == 6) set(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, both_families ? 0 : 1);
  // Otherwise the port of a job that has just ended would be refused for minutes.
  set(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (first == FirstWord::of_connecting) set(socket.get(), IPPROTO_TCP, TCP_DEFER_ACCEPT, kSilence);
  sockaddr_storage there;
  const socklen_t size = to_socket_address(address, port, there);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&there), size) == 0 &&
      ::listen(socket.get(), kWaiting) == 0)
    return socket;
  const int error = errno;
  socket.close();
  errno = error;
  return socket;
}

std::uint16_t port_of(int socket) noexcept {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

/// Returns false when the port is in use at an address. Throws weft::Error when an address cannot be used.
bool try_to_listen(Listener& listener, std::uint16_t port, std::span<const Address> at, FirstWord first) {
  const auto refuse = [](const std::string& where, int error) {
    throw Error(ErrorClass::network,
                "this rank cannot listen at " + where + ": " + base::failed_call("bind", error));
  };
  const auto add = [&listener](base::Descriptor socket) {
    listener.port = port_of(socket.get());
    listener.sockets.push_back(std::move(socket));
  };
  if (at.empty()) {
    // For IPv6 and IPv4, or for IPv4 alone where the kernel has no IPv6.
    for (const std::uint8_t family : {std::uint8_t{6}, std::uint8_t{4}}) {
      Address any;
      any.family = family;
      base::Descriptor socket = bind_to(any, port, true, first);
      if (!socket && errno == EADDRINUSE) return false;
      if (!socket) continue;
      add(std::move(socket));
      return true;
    }
    refuse("any address", errno);
  }
  for (const Address& each : at) {
    base::Descriptor socket = bind_to(each, listener.sockets.empty() ? port : listener.port, false, first);
    if (!socket && errno == EADDRINUSE) return false;
    if (!socket) refuse(to_text(each), errno);
    add(std::move(socket));
  }
  return true;
}

}  // namespace

PortRange parse_ports(std::string_view text) {
  if (text == "auto") return {};
  const std::size_t dash = text.find('-');
  const auto first = base::parse_integer(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : base::parse_integer(text.substr(dash + 1));
  const auto is_port = [](const auto& value) { return value.has_value() && *value > 0 && *value < 65536; };
  if (!is_port(first) || !is_port(last) || *first > *last)
    throw Error(ErrorClass::network,
                "ports \"" + std::string(text) +
                    "\" (attribute ports, WEFT_PORTS) is no range of ports: it must be auto, or LO-HI with "
                    "numbers from 1 to 65535, like 40000-40063");
  return {static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)};
}

Listener listen_in(const PortRange& ports, std::span<const Address> at, FirstWord first) {
  const bool is_any = ports.first == 0;
  const std::uint32_t most = is_any ? kPortsTried : ports.last;
  for (std::uint32_t port = is_any ? 1 : ports.first; port <= most; ++port) {
    Listener listener;
    if (try_to_listen(listener, is_any ? std::uint16_t{0} : static_cast<std::uint16_t>(port), at, first))
      return listener;
  }
  if (is_any)
    throw Error(ErrorClass::network,
                "this rank cannot listen on any port: " + base::failed_call("bind", errno));
  throw Error(ErrorClass::network,
              "none of the " + std::to_string(ports.last - ports.first + 1) + " ports " +
                  std::to_string(ports.first) + "-" + std::to_string(ports.last) +
                  " (attribute ports, WEFT_PORTS) is free: each rank of a host needs one");
}

base::Descriptor begin_connect(const Address& address, std::uint16_t port) noexcept {
  base::Descriptor socket(
      ::socket(address.family == 6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return {};
  sockaddr_storage there;
  const socklen_t size = to_socket_address(address, port, there);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&there), size) == 0 || errno == EINPROGRESS ||
      errno == EINTR)  // interrupted, it goes on as well
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
