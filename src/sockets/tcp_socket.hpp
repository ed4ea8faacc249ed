// Sockets with the options that connections between ranks need.
#pragma once

#include "base/descriptor.hpp"
#include "sockets/addresses.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft::sockets {

/// Ports from `first` to `last`; 0 to 0: any that is free.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};
/// Reads the attribute ports: "auto", or "LO-HI". Throws weft::Error.
[[nodiscard]] PortRange parse_ports(std::string_view text);

/// Sockets that listen on one port, each at an address of its own, or one at all addresses.
struct Listener {
  std::vector<base::Descriptor> sockets;
  std::uint16_t port = 0;
};
/// Who sends the first byte of a connection. While a connecting peer that has to is silent, the kernel keeps
/// the connection to itself for some seconds.
enum class FirstWord : std::uint8_t { of_connecting, of_listening };
/// Listens at these addresses, or at all of this host when there are none, on the first port of the range
/// that is free at all of them. Throws weft::Error, which names what cannot be used.
[[nodiscard]] Listener listen_in(const PortRange& ports, std::span<const Address> at = {},
                                 FirstWord first = FirstWord::of_connecting);

/// Begins to connect. Returns an empty descriptor, and errno, when that fails at once.
[[nodiscard]] base::Descriptor begin_connect(const Address& address, std::uint16_t port) noexcept;
/// Messages leave without delay, and the kernel notices while nothing is sent that a peer or a link has been
/// gone for this time.
void set_options(int socket, double peer_timeout_seconds) noexcept;
/// The connection ends when the peer has not acknowledged, or not taken, anything for this time: for peers
/// that always read. Others may be stopped, which is no failure.
void end_when_unanswered(int socket, double seconds) noexcept;
/// Bytes that the peer's kernel has not acknowledged.
[[nodiscard]] int unacknowledged(int socket) noexcept;
/// Raises the number of files that this process may open as far as it may, once.
void raise_file_limit() noexcept;

}  // namespace weft::sockets
