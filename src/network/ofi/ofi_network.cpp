#include "network/ofi/ofi_network.hpp"

#include "base/memory/retired_ranges.hpp"
#include "network/ofi/ofi.hpp"
#include "sockets/addresses.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace weft::network::ofi {

using base::Attribute;

namespace {

template <class Number>
Number number(const base::Attributes& attributes, Attribute attribute) {
  return static_cast<Number>(attributes.integer(attribute));
}

/// Longer messages would leave the providers' eager protocols (16 KiB in ofi_rxm, with its header), and their
/// rendezvous does not end over tcp;ofi_rxm.
constexpr std::size_t kLongestPacket = 15 * 1024;

std::size_t packet_bytes_of(const base::Attributes& attributes) {
  return std::min(number<std::size_t>(attributes, Attribute::packet_size), kLongestPacket);
}

/// Payloads up to this size are copied into a buffer of the network instead of a packet; for larger ones the
/// copy saves nothing.
constexpr std::size_t kLongestCopied = 432;

std::size_t inline_bytes_of(const base::Attributes& attributes) {
  const auto inline_max = number<std::size_t>(attributes, Attribute::inline_max);
  return std::max(std::min(inline_max, kLongestCopied), kSmallestSend);
}

constexpr std::string_view kAutomatic = "auto";
constexpr std::string_view kLoopback = "127.0.0.1";

/// The address at which this rank is reached by providers with sockets. Throws weft::Error.
std::string own_address(const bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes) {
  std::string given(attributes.text(Attribute::ofi_address));
  if (given != kAutomatic) return given;
  bool is_on_several_hosts = false;
  for (int rank = 0; rank < bootstrap.size(); ++rank)
    if (bootstrap.host_of(rank) != bootstrap.host_of(bootstrap.rank())) is_on_several_hosts = true;
  if (!is_on_several_hosts) return std::string(kLoopback);
  const auto interfaces =
      sockets::select_interfaces(sockets::list_interfaces(), attributes.text(Attribute::interface));
  for (const sockets::Interface& each : interfaces)
    if (each.address.family == 4 && each.address.is_loopback == 0) return sockets::to_text(each.address);
  throw Error(
      ErrorClass::network,
      "ofi: the job is on several hosts, and this one has no IPv4 address at which others reach it: set "
      "WEFT_OFI_ADDRESS or WEFT_INTERFACE; it has " +
          sockets::to_text(interfaces));
}

/// Where peers' puts and gets go, or why they go by messages.
AccessDomain::Choice access_choice(const base::Attributes& attributes, std::string_view provider,
                                   std::string_view address) {
  if (attributes.text(Attribute::one_sided) == "message") return {"", "attribute one_sided is message"};
  return AccessDomain::choose(provider, address);
}

std::unique_ptr<AccessDomain> open_accesses(const base::Attributes& attributes, std::string_view provider,
                                            std::string_view address) {
  const AccessDomain::Choice choice = access_choice(attributes, provider, address);
  if (choice.provider.empty()) return nullptr;
  return std::make_unique<AccessDomain>(choice.provider, address);
}

/// Who carries out puts and gets, as an attempt shows.
std::string describe(const AccessDomain::Choice& choice, std::string_view address) try {
  if (choice.provider.empty()) return "puts and gets of regions go by messages: " + choice.why_not;
  AccessDomain accesses(choice.provider, address);
  const AccessFindings& found = accesses.findings();
  if (!found.unsound.empty()) return "puts and gets of regions go by messages: " + found.unsound;
  return "puts and gets of more than 8 KiB of regions that weft allocates go by the provider " +
         choice.provider + ", " +
         (found.no_signals.empty() ? "which brings the signals of puts along"
                                   : "signals of puts by messages (" + found.no_signals + ")") +
         "; others go by messages";
} catch (const Error& error) {
  return "puts and gets of regions go by messages: " + std::string(error.what());
}

}  // namespace

Resources::Resources(const bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                     const Network::PacketMemory& foreign)
    : fabric(attributes.text(Attribute::ofi_provider), own_address(bootstrap, attributes)),
      accesses(open_accesses(attributes, fabric.provider(), own_address(bootstrap, attributes))),
      packets(fabric, number<std::uint32_t>(attributes, Attribute::packets),
              packet_bytes_of(attributes) + Network::kPacketTrailer, foreign) {}

OfiNetwork::OfiNetwork(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                       detail::PayloadLender& copier, std::unique_ptr<Resources> resources)
    : SessionNetwork(bootstrap, attributes, base::LogModule::ofi,
                     {"ofi", resources->fabric.provider(), "ofi_provider (WEFT_OFI_PROVIDER)"},
                     sizeof(session::Header) +
                         std::max(resources->packets.layout().payload, inline_bytes_of(attributes)),
                     Attribute::ofi_credits, Credits::all,
                     std::min(number<std::uint32_t>(attributes, Attribute::held_packets),
                              std::max(number<std::uint32_t>(attributes, Attribute::ofi_credits) / 4, 1U))),
      resources_(std::move(resources)),
      context_{resources_->fabric,
               peers(),
               courier(),
               resources_->packets,
               copier,
               log(),
               inline_bytes_of(attributes),
               resources_->accesses.get()} {
  log().info([&] {
    return "provider " + std::string(resources_->fabric.provider()) + ", " +
           std::to_string(shared().credits) + " messages under way between two devices in each class";
  });
}

Capabilities OfiNetwork::capabilities() const noexcept {
  Capabilities capabilities;
  capabilities.inline_bytes = context_.inline_bytes;
  capabilities.can_fetch = true;
  capabilities.landing_bytes = resources_->fabric.immediate_bytes();
  if (resources_->accesses != nullptr && resources_->accesses->fabric().immediate_bytes() == 8 &&
      context_.peers.size() <= PutSignal::kMostRanks)
    capabilities.immediate_bytes = session::Transport::kImmediateBytes;
  capabilities.stages = shared().stages;
  return capabilities;
}

/// Only memory of weft's own: a provider with sockets may go on to store what a peer has put in part after
/// the region has ended, and then the program could use its memory for something else.
RegionKeys OfiNetwork::register_memory(RegionName name, std::span<std::byte> memory, bool allocated) {
  return allocated ? register_lasting_memory(name, memory)
                   : SessionNetwork::register_memory(name, memory, false);
}

RegionKeys OfiNetwork::register_lasting_memory(RegionName name, std::span<std::byte> memory) {
  RegionKeys keys = SessionNetwork::register_memory(name, memory, true);
  AccessDomain* const accesses = resources_->accesses.get();
  if (memory.empty() || accesses == nullptr) return keys;
  try {
    keys.address = accesses->add(name, memory);
    keys.key = region_key(name);
  } catch (const Error& error) {
    log().info([&] {
      return "puts and gets of region " + std::to_string(name.index) + " go by messages: " + error.what();
    });
  }
  return keys;
}

void OfiNetwork::release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept {
  AccessDomain* const accesses = resources_->accesses.get();
  const bool was_reached = accesses != nullptr && accesses->remove(name);
  if (was_reached && allocated)
    base::RetiredRanges::of_process().retire(memory.data(), memory.size());
  else
    SessionNetwork::release_memory(name, memory, allocated);
}

std::unique_ptr<Network> make_network(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                                      detail::PayloadLender& copier, const Network::PacketMemory& packets) {
  return std::make_unique<OfiNetwork>(bootstrap, attributes, copier,
                                      std::make_unique<Resources>(bootstrap, attributes, packets));
}

Availability availability(const base::Attributes& attributes) try {
  const std::string_view address = attributes.text(Attribute::ofi_address);
  const std::string_view reached = address == kAutomatic ? kLoopback : address;
  const auto providers = usable_providers(reached);
  std::string text;
  for (const std::string& provider : providers) text += (text.empty() ? "" : ", ") + provider;
  if (providers.empty()) return {false, "libfabric has no provider here that weft can use"};
  const std::string_view given = attributes.text(Attribute::ofi_provider);
  const std::string_view provider = given == kAutomatic ? providers.front() : given;
  const std::size_t buffers =
      OfiReceiveBuffers::kAtATime *
      (packet_bytes_of(attributes) + Network::kPacketTrailer + sizeof(session::Header));
  return {true, "libfabric, with the providers " + text + "; " +
                    describe(access_choice(attributes, provider, reached), reached) +
                    "; native atomic operations: no; a rank takes " +
                    std::to_string(session::kBytesOfUnknownPeer) + " bytes for one that it never meets, " +
                    std::to_string((session::kBytesOfConnectedPeer + buffers) / 1024) +
                    " KiB and what the provider takes for one that it is connected with"};
} catch (const Error& error) {
  return {false, error.what()};
}

}  // namespace weft::network::ofi
