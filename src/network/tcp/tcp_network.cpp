#include "network/tcp/tcp_network.hpp"

#include "network/region_count.hpp"
#include "network/tcp/tcp.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <string>

namespace weft::network::tcp {

using base::Attribute;

namespace {

template <class Number>
Number number(const base::Attributes& attributes, Attribute attribute) {
  return static_cast<Number>(attributes.integer(attribute));
}

/// Longer messages are fetched, which needs no copy.
constexpr std::size_t kLongestPacket = 32 * 1024;
/// Payloads go from where they are to the socket; what it does not take at once is copied.
constexpr std::size_t kLongestInline = 8192;

std::size_t packet_bytes_of(const base::Attributes& attributes) {
  return std::min(number<std::size_t>(attributes, Attribute::packet_size), kLongestPacket);
}

std::size_t inline_bytes_of(const base::Attributes& attributes) {
  return std::clamp(number<std::size_t>(attributes, Attribute::inline_max), kSmallestSend, kLongestInline);
}

Protection protection_of(const base::Attributes& attributes) {
  if (attributes.boolean(Attribute::tcp_encrypt)) return Protection::encrypted;
  return attributes.boolean(Attribute::tcp_authenticate) ? Protection::authenticated : Protection::none;
}

std::size_t message_bytes_of(const base::Attributes& attributes, const Network::PacketMemory& packets) {
  const std::size_t payload = packet_bytes_of(attributes) + Network::kPacketTrailer;
  const std::size_t single = std::max(packets.base == nullptr ? payload : std::min(payload, packets.payload),
                                      inline_bytes_of(attributes));
  return std::max(sizeof(session::Header) + single, kShortestBuffer);
}

}  // namespace

TcpNetwork::TcpNetwork(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                       detail::PayloadLender& copier, const Network::PacketMemory& packets)
    : SessionNetwork(bootstrap, attributes, base::LogModule::tcp,
                     {"tcp", "sockets", "network (WEFT_NETWORK)"}, message_bytes_of(attributes, packets),
                     Attribute::tcp_credits, Credits::follow_delay, 0),
      inline_bytes_(inline_bytes_of(attributes)),
      packets_("tcp", number<std::uint32_t>(attributes, Attribute::packets),
               packet_bytes_of(attributes) + kPacketTrailer, packets),
      interfaces_(select_interfaces(list_interfaces(), attributes.text(Attribute::interface))),
      membership_{std::string(bootstrap.job_id()),
                  bootstrap.secret(),
                  bootstrap.rank(),
                  bootstrap.size(),
                  attributes.seconds(Attribute::peer_timeout),
                  protection_of(attributes)},
      acceptor_(membership_,
                listen_in(parse_ports(attributes.text(Attribute::ports)),
                          addresses_to_listen_at(interfaces_, attributes.text(Attribute::interface))),
                log()),
      regions_(region_count(attributes)),
      context_{membership_,
               acceptor_,
               offers_,
               regions_,
               peers(),
               packets_,
               bootstrap,
               copier,
               log(),
               interfaces_,
               courier(),
               read_network_namespace(),
               message_bytes_of(attributes, packets)} {
  prepare_greetings();
  raise_file_limit();
  log().info([&] { return "port " + std::to_string(acceptor_.port()) + " of " + to_text(interfaces_); });
}

Capabilities TcpNetwork::capabilities() const noexcept {
  Capabilities capabilities;
  capabilities.inline_bytes = inline_bytes_;
  capabilities.can_fetch = true;
  capabilities.stages = shared().stages;
  return capabilities;
}

/// Regions have indices below regions_max, and calls for one index do not overlap. Peers need no key but the
/// name.
RegionKeys TcpNetwork::register_memory(RegionName name, std::span<std::byte> memory, bool allocated) {
  regions_.open(key_of(name), memory);
  return SessionNetwork::register_memory(name, memory, allocated);
}

/// A piece of a put that is landing is stored before this returns, and none afterwards.
void TcpNetwork::release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept {
  regions_.close(key_of(name));
  SessionNetwork::release_memory(name, memory, allocated);
}

std::unique_ptr<Network> make_network(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                                      detail::PayloadLender& copier, const Network::PacketMemory& packets) {
  return std::make_unique<TcpNetwork>(bootstrap, attributes, copier, packets);
}

Availability availability(const base::Attributes& attributes) try {
  return {true, "sockets of " +
                    to_text(select_interfaces(list_interfaces(), attributes.text(Attribute::interface)))};
} catch (const Error& error) {
  return {false, error.what()};
}

}  // namespace weft::network::tcp
