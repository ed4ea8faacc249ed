#include "sockets/addresses.hpp"

#include "base/host/host.hpp"
#include "base/system_call.hpp"
#include "base/text/parse.hpp"

#include <weft/error.hpp>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace weft::sockets {

namespace {

constexpr std::uint32_t kMagic = 0x41544657;  // "WFTA"

/// The fixed part of what encode() makes; the addresses follow.
struct Prologue {
  std::uint32_t magic;
  std::uint16_t port;
  std::uint16_t count;
  std::uint64_t network_namespace;
};
static_assert(sizeof(Prologue) == 16);

std::size_t bytes_of(const Address& address) { return address.family == 4 ? 4 : 16; }

bool is_in_subnet(const Address& address, const Address& subnet, unsigned prefix) {
  if (address.family != subnet.family) return false;
  for (std::size_t index = 0; index < bytes_of(address) && prefix > 0; ++index) {
    const unsigned bits = std::min(prefix, 8U);
    const auto mask = static_cast<std::uint8_t>(0xff << (8 - bits));
    if (((address.bytes[index] ^ subnet.bytes[index]) & mask) != 0) return false;
    prefix -= bits;
  }
  return true;
}

std::optional<Address> address_of(const sockaddr* generic) {
  Address address;
  if (generic == nullptr) return std::nullopt;
  if (generic->sa_family == AF_INET) {
    address.family = 4;
    std::memcpy(address.bytes.data(), &reinterpret_cast<const sockaddr_in*>(generic)->sin_addr, 4);
    return address;
  }
  if (generic->sa_family != AF_INET6) return std::nullopt;
  const auto& there = reinterpret_cast<const sockaddr_in6*>(generic)->sin6_addr;
  if (IN6_IS_ADDR_LINKLOCAL(&there)) return std::nullopt;  // means nothing without the name of an interface
  address.family = 6;
  std::memcpy(address.bytes.data(), &there, 16);
  return address;
}

std::uint8_t prefix_of(const sockaddr* mask) {
  const auto address = address_of(mask);
  if (!address.has_value()) return 0;
  unsigned bits = 0;
  for (const std::uint8_t byte : address->bytes) bits += static_cast<unsigned>(std::popcount(byte));
  return static_cast<std::uint8_t>(bits);
}

/// A subnet as WEFT_INTERFACE names it; nothing when the text is none.
std::optional<Address> parse_subnet(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string host(text.substr(0, slash));
  Address subnet;
  if (::inet_pton(AF_INET, host.c_str(), subnet.bytes.data()) == 1)
    subnet.family = 4;
  else if (::inet_pton(AF_INET6, host.c_str(), subnet.bytes.data()) == 1)
    subnet.family = 6;
  else
    return std::nullopt;
  const int most = subnet.family == 4 ? 32 : 128;
  const auto prefix =
      slash == std::string_view::npos ? most : base::parse_integer(text.substr(slash + 1)).value_or(-1);
  if (prefix < 0 || prefix > most) return std::nullopt;
  subnet.prefix = static_cast<std::uint8_t>(prefix);
  return subnet;
}

}  // namespace

std::vector<Interface> list_interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0)
    throw Error(ErrorClass::network,
                "the network interfaces cannot be listed: " + base::failed_call("getifaddrs", errno));
  std::vector<Interface> all;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    auto address = (each->ifa_flags & IFF_UP) != 0 ? address_of(each->ifa_addr) : std::nullopt;
    if (!address.has_value()) continue;
    address->prefix = prefix_of(each->ifa_netmask);
    address->is_loopback = (each->ifa_flags & IFF_LOOPBACK) != 0 ? 1 : 0;
    all.push_back({each->ifa_name, *address});
  }
  ::freeifaddrs(first);
  std::stable_sort(all.begin(), all.end(), [](const Interface& a, const Interface& b) {
    return a.address.is_loopback < b.address.is_loopback;
  });
  return all;
}

std::vector<Interface> select_interfaces(const std::vector<Interface>& all, std::string_view filter) {
  if (filter == "auto") return all;
  std::vector<Interface> selected;
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = filter.find(',');
    const std::string_view part = filter.substr(0, comma);
    is_last = comma == std::string_view::npos;
    if (!is_last) filter.remove_prefix(comma + 1);
    const auto subnet = parse_subnet(part);
    bool is_known = false;
    for (const Interface& each : all) {
      const bool is_named = subnet.has_value() ? is_in_subnet(each.address, *subnet, subnet->prefix)
                                               : std::string_view(each.name) == part;
      if (!is_named) continue;
      is_known = true;
      const auto is_same = [&](const Interface& other) { return other.address == each.address; };
      if (std::none_of(selected.begin(), selected.end(), is_same)) selected.push_back(each);
    }
    if (!is_known)
      throw Error(ErrorClass::network,
                  "no network interface has the name or subnet \"" + std::string(part) +
                      "\" (attribute interface, WEFT_INTERFACE); there are: " + to_text(all));
  }
  return selected;
}

std::vector<Address> addresses_to_listen_at(std::span<const Interface> selected, std::string_view filter) {
  std::vector<Address> addresses;
  if (filter == "auto") return addresses;
  // The others are not published: see encode().
  for (const Interface& each : selected.first(std::min(selected.size(), kMostAddresses)))
    addresses.push_back(each.address);
  return addresses;
}

std::uint64_t read_network_namespace() {
  struct stat information {};
  if (::stat("/proc/self/ns/net", &information) != 0) return 0;
  return base::read_boot_id() ^ static_cast<std::uint64_t>(information.st_ino) * 0x9e3779b97f4a7c15;
}

std::vector<std::byte> encode(const Endpoints& endpoints) {
  const std::size_t count = std::min(endpoints.addresses.size(), kMostAddresses);
  const Prologue prologue{kMagic, endpoints.port, static_cast<std::uint16_t>(count),
                          endpoints.network_namespace};
  std::vector<std::byte> bytes(sizeof prologue + count * sizeof(Address));
  std::memcpy(bytes.data(), &prologue, sizeof prologue);
  if (count != 0)
    std::memcpy(bytes.data() + sizeof prologue, endpoints.addresses.data(), count * sizeof(Address));
  return bytes;
}

std::optional<Endpoints> decode(std::span<const std::byte> bytes) {
  Prologue prologue{};
  if (bytes.size() < sizeof prologue) return std::nullopt;
  std::memcpy(&prologue, bytes.data(), sizeof prologue);
  if (prologue.magic != kMagic || prologue.port == 0 || prologue.count > kMostAddresses ||
      bytes.size() != sizeof prologue + prologue.count * sizeof(Address))
    return std::nullopt;
  Endpoints endpoints{prologue.port, prologue.network_namespace, {}};
  endpoints.addresses.resize(prologue.count);
  if (prologue.count != 0)
    std::memcpy(endpoints.addresses.data(), bytes.data() + sizeof prologue, prologue.count * sizeof(Address));
  for (const Address& address : endpoints.addresses)
    if ((address.family != 4 && address.family != 6) || address.prefix > (address.family == 4 ? 32 : 128))
      return std::nullopt;
  return endpoints;
}

std::vector<Address> order_of_trial(const Endpoints& peer, std::span<const Interface> own,
                                    std::uint64_t own_network_namespace) {
  const bool is_same_host = own_network_namespace != 0 && peer.network_namespace == own_network_namespace;
  const auto distance = [&](const Address& address) {
    if (address.is_loopback != 0) return 0;
    const bool is_near = std::any_of(own.begin(), own.end(), [&](const Interface& each) {
      return each.address.is_loopback == 0 &&
             is_in_subnet(address, each.address, std::min(address.prefix, each.address.prefix));
    });
    return is_near ? 1 : 2;
  };
  const auto has_family = [&](const Address& address) {
    return std::any_of(own.begin(), own.end(), [&](const Interface& each) {
      return each.address.is_loopback == 0 && each.address.family == address.family;
    });
  };
  std::vector<Address> ordered;
  for (const Address& address : peer.addresses)
    if (address.is_loopback != 0 ? is_same_host : has_family(address)) ordered.push_back(address);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const Address& a, const Address& b) { return distance(a) < distance(b); });
  return ordered;
}

socklen_t to_socket_address(const Address& address, std::uint16_t port, sockaddr_storage& socket_address) {
  socket_address = {};
  if (address.family == 4) {
    auto& there = reinterpret_cast<sockaddr_in&>(socket_address);
    there.sin_family = AF_INET;
    there.sin_port = htons(port);
    std::memcpy(&there.sin_addr, address.bytes.data(), 4);
    return sizeof there;
  }
  auto& there = reinterpret_cast<sockaddr_in6&>(socket_address);
  there.sin6_family = AF_INET6;
  there.sin6_port = htons(port);
  std::memcpy(&there.sin6_addr, address.bytes.data(), 16);
  return sizeof there;
}

std::string to_text(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(address.family == 4 ? AF_INET : AF_INET6, address.bytes.data(), text.data(), text.size());
  return text.data();
}

std::string to_text(const Address& address, std::uint16_t port) {
  const std::string host = to_text(address);
  return (address.family == 4 ? host : "[" + host + "]") + ":" + std::to_string(port);
}

std::string to_text(std::span<const Interface> interfaces) {
  std::string text;
  for (const Interface& each : interfaces)
    text += (text.empty() ? "" : ", ") + each.name + " " + to_text(each.address) + "/" +
            std::to_string(each.address.prefix);
  return text.empty() ? "none" : text;
}

}  // namespace weft::sockets
