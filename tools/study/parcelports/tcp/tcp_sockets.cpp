#include "study/parcelports/tcp/tcp_sockets.hpp"

#include <weft/error.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace weft::parcel::ports::tcp {

namespace {

std::vector<sockets::Interface> loopback_among(const std::vector<sockets::Interface>& all) {
  std::vector<sockets::Interface> loopback;
  std::copy_if(all.begin(), all.end(), std::back_inserter(loopback),
               [](const sockets::Interface& each) { return each.address.is_loopback != 0; });
  return loopback;
}

}  // namespace

sockets::Endpoints Contact::endpoints() const {
  sockets::Endpoints published{listener.port, network_namespace, {}};
  for (const sockets::Interface& each : interfaces) published.addresses.push_back(each.address);
  return published;
}

Contact open_contact(bool has_several_hosts, std::string_view interfaces, std::string_view ports) {
  Contact contact;
  contact.network_namespace = sockets::read_network_namespace();
  const std::vector<sockets::Interface> all = sockets::list_interfaces();
  contact.interfaces = sockets::select_interfaces(all, interfaces);
  bool is_everywhere = interfaces == "auto";
  if (!has_several_hosts && is_everywhere)
    if (auto loopback = loopback_among(all); !loopback.empty() && contact.network_namespace != 0) {
      contact.interfaces = std::move(loopback);
      is_everywhere = false;
    }
  if (contact.interfaces.empty())
    throw Error("parcel option port is 'tcp', but this host has no address at which other ranks reach it");
  const std::vector<sockets::Address> at =
      sockets::addresses_to_listen_at(contact.interfaces, is_everywhere ? "auto" : "chosen");
  contact.listener = sockets::listen_in(sockets::parse_ports(ports), at, sockets::FirstWord::of_listening);
  return contact;
}

asio::ip::tcp protocol_of(int socket) noexcept {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  static_cast<void>(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size));
  return address.ss_family == AF_INET6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4();
}

}  // namespace weft::parcel::ports::tcp
