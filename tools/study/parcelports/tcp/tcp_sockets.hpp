// Where the port tcp listens, and what it connects to: src/sockets, as the network tcp of weft has them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sockets/addresses.hpp"
#include "sockets/tcp_socket.hpp"
#include "study/parcelports/tcp/asio.hpp"

namespace weft::parcel::ports::tcp {

/// Where other ranks reach a rank.
struct Contact {
  std::vector<sockets::Interface> interfaces;  // those that were chosen
  std::uint64_t network_namespace = 0;
  sockets::Listener listener;

  /// For the other ranks.
  [[nodiscard]] sockets::Endpoints endpoints() const;
  /// The addresses of a rank in the order in which they are tried.
  [[nodiscard]] std::vector<sockets::Address> ways_to(const sockets::Endpoints& there) const {
    return sockets::order_of_trial(there, interfaces, network_namespace);
  }
};

/// Listens. `interfaces`, `ports`: the attributes of weft. Without a choice a job on one host listens at
/// loopback addresses only. Throws weft::Error.
[[nodiscard]] Contact open_contact(bool has_several_hosts, std::string_view interfaces,
                                   std::string_view ports);

/// The protocol of the addresses at which a socket is.
[[nodiscard]] asio::ip::tcp protocol_of(int socket) noexcept;

}  // namespace weft::parcel::ports::tcp
