// Sockets of the port tcp.
#pragma once

#include <asio.hpp>

#include <string_view>

namespace weft::parcel::tcp {

/// The address at which this rank listens: loopback in a job on one host, else the first one that is no
/// loopback and that `filter`, the attribute interface, names by interface or subnet. Throws weft::Error.
[[nodiscard]] asio::ip::address address_of_rank(bool has_several_hosts, std::string_view filter);
/// Listens at the address on a port that is free. Programs that are executed do not inherit it. Throws
/// weft::Error.
void listen_at(asio::ip::tcp::acceptor& acceptor, const asio::ip::address& address);
/// Opens a socket for connecting to the address; it is not inherited. Returns what has failed, if anything.
[[nodiscard]] asio::error_code open_for(asio::ip::tcp::socket& socket, const asio::ip::address& address);
/// Programs that are executed do not inherit the socket.
void keep_to_this_program(asio::ip::tcp::socket& socket) noexcept;

}  // namespace weft::parcel::tcp
