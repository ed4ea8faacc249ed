#include "parcel/ports/tcp/tcp_sockets.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string>

namespace weft::parcel::tcp {

namespace {

using asio::ip::address;
using tcp_protocol = asio::ip::tcp;

address address_from(const sockaddr& generic) {
  if (generic.sa_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &generic, sizeof four);
    return asio::ip::address_v4(ntohl(four.sin_addr.s_addr));
  }
  sockaddr_in6 six{};
  std::memcpy(&six, &generic, sizeof six);
  asio::ip::address_v6::bytes_type bytes;
  std::memcpy(bytes.data(), &six.sin6_addr, bytes.size());
  return asio::ip::address_v6(bytes);
}

/// Compares the first `bits` bits.
template <class Bytes>
bool are_alike(const Bytes& a, const Bytes& b, unsigned bits) {
  for (std::size_t index = 0; index < a.size() && bits > 0; ++index) {
    const unsigned here = bits < 8 ? bits : 8;
    if (((a[index] ^ b[index]) & (0xff00 >> here) & 0xff) != 0) return false;
    bits -= here;
  }
  return true;
}

/// `part`: the name of an interface, or a subnet as in "10.1.0.0/16".
bool names(std::string_view part, std::string_view interface, const address& own) {
  if (part == interface) return true;
  const std::size_t slash = part.find('/');
  asio::error_code fault;
  const address subnet = asio::ip::make_address(std::string(part.substr(0, slash)), fault);
  if (fault || subnet.is_v4() != own.is_v4()) return false;
  unsigned bits = own.is_v4() ? 32 : 128;
  if (slash != std::string_view::npos) {
    const std::string_view text = part.substr(slash + 1);
    if (std::from_chars(text.data(), text.data() + text.size(), bits).ec != std::errc()) return false;
  }
  return own.is_v4() ? are_alike(own.to_v4().to_bytes(), subnet.to_v4().to_bytes(), bits)
                     : are_alike(own.to_v6().to_bytes(), subnet.to_v6().to_bytes(), bits);
}

bool is_chosen(std::string_view filter, std::string_view interface, const address& own) {
  if (filter == "auto") return true;
  while (!filter.empty()) {
    const std::size_t comma = filter.find(',');
    if (names(filter.substr(0, comma), interface, own)) return true;
    filter.remove_prefix(comma == std::string_view::npos ? filter.size() : comma + 1);
  }
  return false;
}

int open_descriptor(const address& at) {
  return ::socket(at.is_v6() ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

tcp_protocol protocol_of(const address& at) { return at.is_v6() ? tcp_protocol::v6() : tcp_protocol::v4(); }

}  // namespace

address address_of_rank(bool has_several_hosts, std::string_view filter) {
  if (!has_several_hosts) return asio::ip::address_v4::loopback();
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) throw Error("the system does not tell the addresses of this host");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(first, &freeifaddrs);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
      if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != family ||
          (each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0)
        continue;
      const address own = address_from(*each->ifa_addr);
      if (own.is_v6() && own.to_v6().is_link_local()) continue;  // means nothing on another host
      if (is_chosen(filter, each->ifa_name, own)) return own;
    }
  }
  throw Error(
      "parcel option port is 'tcp' in a job on several hosts, but this host has no address besides loopback" +
      (filter == "auto"
           ? std::string()
           : " that \"" + std::string(filter) + "\" names (attribute interface, WEFT_INTERFACE)"));
}

void listen_at(tcp_protocol::acceptor& acceptor, const address& at) {
  const auto check = [&](bool is_done) {
    if (!is_done)
      throw Error("could not listen on " + at.to_string() + " for parcels: " + std::strerror(errno));
  };
  const int descriptor = open_descriptor(at);
  check(descriptor >= 0);
  acceptor.assign(protocol_of(at), descriptor);
  const tcp_protocol::endpoint here(at, 0);
  check(::bind(descriptor, here.data(), static_cast<socklen_t>(here.size())) == 0);
  check(::listen(descriptor, asio::socket_base::max_listen_connections) == 0);
}

asio::error_code open_for(tcp_protocol::socket& socket, const address& at) {
  const int descriptor = open_descriptor(at);
  if (descriptor < 0) return {errno, asio::error::get_system_category()};
  asio::error_code fault;
  socket.assign(protocol_of(at), descriptor, fault);
  if (fault) ::close(descriptor);
  return fault;
}

void keep_to_this_program(tcp_protocol::socket& socket) noexcept {
  static_cast<void>(::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC));
}

}  // namespace weft::parcel::tcp
