#include "network/ibv/ibv_network.hpp"

#include "network/ibv/ibv.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <string>

namespace weft::network::ibv {

using base::Attribute;

namespace {

/// Longer messages are fetched, which needs no copy; and each peer has receive buffers of this size.
constexpr std::size_t kLongestPacket = 4 * 1024;
/// Payloads up to this size are copied into a room of the network instead of a packet; for larger ones the
/// copy saves nothing.
constexpr std::size_t kLongestCopied = 432;

std::size_t packet_bytes_of(const base::Attributes& attributes) {
  return std::min(static_cast<std::size_t>(attributes.integer(Attribute::packet_size)), kLongestPacket) +
         Network::kPacketTrailer;
}

std::size_t inline_bytes_of(const base::Attributes& attributes) {
  return std::clamp(static_cast<std::size_t>(attributes.integer(Attribute::inline_max)), kSmallestSend,
                    kLongestCopied);
}

std::size_t message_bytes_of(const base::Attributes& attributes, const Network::PacketMemory& foreign) {
  const std::size_t packet = packet_bytes_of(attributes);
  return sizeof(session::Header) +
         std::max(foreign.base == nullptr ? packet : std::min(packet, foreign.payload),
                  inline_bytes_of(attributes));
}

DeviceChoice choice_of(const base::Attributes& attributes) {
  return {attributes.text(Attribute::ibv_device), attributes.integer(Attribute::ibv_gid_index)};
}

ThreadDomains thread_domains_of(const base::Attributes& attributes) {
  return static_cast<ThreadDomains>(attributes.integer(Attribute::ibv_thread_domains));
}

/// What `weft info` says of thread domains.
std::string describe_thread_domains(const base::Attributes& attributes, const Device& device) {
  if (thread_domains_of(attributes) == ThreadDomains::none) return "none";
  return ThreadDomain(device) ? std::string(attributes.text(Attribute::ibv_thread_domains))
                              : "none, since the device has none";
}

/// Bytes that a rank takes for a device of a peer that it is connected with, without the queues of verbs.
std::size_t bytes_of_connection(const base::Attributes& attributes) {
  const auto credits = static_cast<std::uint32_t>(attributes.integer(Attribute::ibv_credits));
  std::size_t buffers = session::kForTheNetwork;
  for (std::size_t traffic = 0; traffic < kTrafficClasses; ++traffic)
    buffers += session::credits_of(static_cast<TrafficClass>(traffic), credits);
  return session::kBytesOfConnectedPeer + sizeof(Connection) + buffers * message_bytes_of(attributes, {});
}

}  // namespace

IbvNetwork::IbvNetwork(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                       detail::PayloadLender& copier, const Network::PacketMemory& packets)
    : SessionNetwork(bootstrap, attributes, base::LogModule::ibv, {"ibv", "verbs", "network (WEFT_NETWORK)"},
                     message_bytes_of(attributes, packets), Attribute::ibv_credits, Credits::all, 0),
      device_(choice_of(attributes)),
      packets_(device_, static_cast<std::uint32_t>(attributes.integer(Attribute::packets)),
               packet_bytes_of(attributes), packets),
      regions_(device_),
      events_(device_, peers(), log()),
      context_{device_,
               events_,
               peers(),
               packets_,
               regions_,
               copier,
               log(),
               inline_bytes_of(attributes),
               message_bytes_of(attributes, packets),
               attributes.text(Attribute::rendezvous) == "read",
               ack_timeout_of(attributes.seconds(Attribute::peer_timeout)),
               thread_domains_of(attributes)} {
  log().info([&] {
    return device_.describe() + ", " + std::to_string(shared().credits) +
           " messages under way between two devices in each class";
  });
}

Capabilities IbvNetwork::capabilities() const noexcept {
  Capabilities capabilities;
  capabilities.inline_bytes = context_.inline_bytes;
  capabilities.can_fetch = context_.fetches;
  capabilities.landing_bytes = kImmediateBytes;
  capabilities.immediate_bytes = kImmediateBytes;
  capabilities.stages = shared().stages;
  return capabilities;
}

RegionKeys IbvNetwork::register_memory(RegionName name, std::span<std::byte> memory, bool allocated) {
  RegionKeys keys = SessionNetwork::register_memory(name, memory, allocated);
  try {
    if (!memory.empty()) keys.key = regions_.add(name, memory);
  } catch (const Error& error) {
    log().info([&] {
      return "puts and gets of region " + std::to_string(name.index) + " go by messages: " + error.what();
    });
  }
  return keys;
}

void IbvNetwork::release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept {
  regions_.remove(name);
  SessionNetwork::release_memory(name, memory, allocated);
}

std::unique_ptr<Network> make_network(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                                      detail::PayloadLender& copier, const Network::PacketMemory& packets) {
  return std::make_unique<IbvNetwork>(bootstrap, attributes, copier, packets);
}

Availability availability(const base::Attributes& attributes) try {
  const Device device(choice_of(attributes));
  return {
      true,
      "verbs, " + device.describe() + "; a rank takes " + std::to_string(session::kBytesOfUnknownPeer) +
          " bytes for one that it never meets, " + std::to_string(bytes_of_connection(attributes) / 1024) +
          " KiB and a queue pair of the device for one that it is connected with, " +
          std::to_string(sizeof(Connection) / 1024) + " KiB and another queue pair where it puts or gets, " +
          std::to_string(
              (sizeof(Connection) + Introductions::kForImmediates * message_bytes_of(attributes, {})) /
              1024) +
          " KiB and another one where the peer does; thread domains: " +
          describe_thread_domains(attributes, device) +
          "; native atomic operations: " + (device.has_atomics() ? "yes" : "no")};
} catch (const Error& error) {
  return {false, error.what()};
}

}  // namespace weft::network::ibv
