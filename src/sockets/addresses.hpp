// Addresses at which a rank can be reached, and the order in which a peer tries them.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::sockets {

/// An address of an interface. Fields that are not used are 0.
struct Address {
  std::uint8_t family = 0;  // 4 or 6
  std::uint8_t prefix = 0;  // length of the subnet's prefix in bits
  std::uint8_t is_loopback = 0;
  std::uint8_t zero = 0;
  std::array<std::uint8_t, 16> bytes{};

  friend bool operator==(const Address&, const Address&) noexcept = default;
};
static_assert(sizeof(Address) == 20);

/// An interface that is up, with one of its addresses.
struct Interface {
  std::string name;
  Address address;
};

/// What a rank publishes: where it listens.
struct Endpoints {
  std::uint16_t port = 0;
  std::uint64_t network_namespace = 0;  // equal only where loopback addresses mean the same host
  std::vector<Address> addresses;
};

/// Most addresses that a rank publishes.
inline constexpr std::size_t kMostAddresses = 16;

/// The interfaces of this network namespace that are up and have an address, loopback last. Throws
/// weft::Error.
[[nodiscard]] std::vector<Interface> list_interfaces();
/// The interfaces that `filter` names: names and subnets like 10.1.0.0/16 or fd00::/8, separated by commas;
/// "auto": all of them. Throws weft::Error that lists what there is when a part names none.
[[nodiscard]] std::vector<Interface> select_interfaces(const std::vector<Interface>& all,
                                                       std::string_view filter);
/// Where a rank listens that publishes the addresses of the interfaces selected by `filter`: nowhere else;
/// empty: at all addresses ("auto").
[[nodiscard]] std::vector<Address> addresses_to_listen_at(std::span<const Interface> selected,
                                                          std::string_view filter);
/// An id of the network namespace and kernel of this process; 0 when it cannot be read.
[[nodiscard]] std::uint64_t read_network_namespace();

[[nodiscard]] std::vector<std::byte> encode(const Endpoints& endpoints);
/// Returns nothing when the bytes have a wrong form.
[[nodiscard]] std::optional<Endpoints> decode(std::span<const std::byte> bytes);

/// The addresses of a peer in the order in which they are tried: loopback first where it means the same host
/// (and never elsewhere), then addresses in a subnet of `own`, then the others of the families of `own`.
[[nodiscard]] std::vector<Address> order_of_trial(const Endpoints& peer, std::span<const Interface> own,
                                                  std::uint64_t own_network_namespace);

/// Writes the address and port for connect() or bind(); returns the size.
socklen_t to_socket_address(const Address& address, std::uint16_t port, sockaddr_storage& socket_address);
/// "10.0.0.1" or "fd00::1".
[[nodiscard]] std::string to_text(const Address& address);
/// "10.0.0.1:4000" or "[fd00::1]:4000".
[[nodiscard]] std::string to_text(const Address& address, std::uint16_t port);
/// "eth0 10.0.0.1/24, lo 127.0.0.1/8", or "none".
[[nodiscard]] std::string to_text(std::span<const Interface> interfaces);

}  // namespace weft::sockets
