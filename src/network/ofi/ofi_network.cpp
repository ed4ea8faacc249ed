#include "network/ofi/ofi_network.hpp"

#include "base/clock.hpp"
#include "concurrent/process_barrier.hpp"
#include "network/ofi/ofi.hpp"
#include "network/session/session_port.hpp"

#include <weft/error.hpp>

#include <sys/mman.h>
#include <algorithm>
#include <string>

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

}  // namespace

OfiNetwork::Resources::Resources(const base::Attributes& attributes, const Network::PacketMemory& foreign)
    : fabric(attributes.text(Attribute::ofi_provider), attributes.text(Attribute::ofi_address)),
      packets(fabric, number<std::uint32_t>(attributes, Attribute::packets),
              packet_bytes_of(attributes) + kPacketTrailer, foreign) {}

OfiNetwork::OfiNetwork(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                       detail::PayloadLender& copier, const Network::PacketMemory& packets)
    : bootstrap_(bootstrap),
      drain_seconds_(attributes.seconds(Attribute::drain_timeout)),
      log_(attributes, bootstrap.rank(), base::LogModule::ofi),
      resources_(std::make_shared<Resources>(attributes, packets)),
      peers_(bootstrap, {"ofi", resources_->fabric.provider(), "ofi_provider (WEFT_OFI_PROVIDER)"},
             sizeof(session::Header) +
                 std::max(resources_->packets.layout().payload, inline_bytes_of(attributes)),
             log_),
      context_{resources_->fabric, peers_, resources_->packets, copier, log_, inline_bytes_of(attributes)},
      shared_{peers_,
              board_,
              log_,
              number<std::uint32_t>(attributes, Attribute::ofi_credits),
              std::min(number<std::uint32_t>(attributes, Attribute::held_packets),
                       std::max(number<std::uint32_t>(attributes, Attribute::ofi_credits) / 4, 1U)),
              attributes.boolean(Attribute::staging)} {
  concurrent::register_process_barrier();
  log_.info([&] {
    return "provider " + std::string(resources_->fabric.provider()) + ", " + std::to_string(shared_.credits) +
           " messages under way between two devices in each class";
  });
}

OfiNetwork::~OfiNetwork() {
  const std::int64_t until = base::now_ns() + base::seconds_to_ns(drain_seconds_);
  for (auto& device : resources_->devices)
    if (device != nullptr)
      if (const std::string lost = device->finish(until); !lost.empty()) {
        log_.error("what was accepted is dropped: its receivers cannot be reached: " + lost);
        bootstrap_.report_loss(lost);
      }
  for (auto& device : resources_->devices)
    if (device != nullptr) device->say_goodbye();
  // Endpoints of this provider write directly into endpoints of the same process, also into closed ones.
  if (!resources_->fabric.ends_access_on_close()) peers_.keep_for_others(resources_);
}

bool OfiNetwork::has_contacted_itself() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return !lock.owns_lock() ||
         std::any_of(resources_->devices.begin(), resources_->devices.end(), [this](const auto& device) {
           return device != nullptr && device->has_contacted(bootstrap_.rank());
         });
}

std::byte* OfiNetwork::allocate_memory(RegionName, std::size_t size) {
  void* memory = ::mmap(nullptr, std::max(size, std::size_t{1}), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error("a region of " + std::to_string(size) + " bytes cannot be allocated");
  return static_cast<std::byte*>(memory);
}

RegionKeys OfiNetwork::register_memory(RegionName, std::span<std::byte> memory, bool) {
  return {reinterpret_cast<std::uint64_t>(memory.data()), 0};
}

void OfiNetwork::release_memory(RegionName, std::span<std::byte> memory, bool allocated) noexcept {
  if (allocated) ::munmap(memory.data(), std::max(memory.size(), std::size_t{1}));
}

Capabilities OfiNetwork::capabilities() const noexcept {
  Capabilities capabilities;
  capabilities.inline_bytes = context_.inline_bytes;
  capabilities.can_fetch = resources_->fabric.ends_access_on_close();
  capabilities.stages = shared_.stages;
  return capabilities;
}

std::unique_ptr<Port> OfiNetwork::open_port(std::uint32_t index, detail::DevicePath& path) {
  const std::lock_guard lock(mutex_);
  auto& device = resources_->devices[index];
  if (device == nullptr)
    device = std::make_unique<session::SessionDevice>(shared_, index,
                                                      std::make_unique<OfiEndpoint>(context_, index));
  if (device->is_stopped())
    throw Error("device " + std::to_string(index) +
                " cannot be opened again: it was closed while a payload from a peer was still landing");
  return std::make_unique<session::SessionPort>(*device, peers_, capabilities(), path);
}

std::unique_ptr<Network> make_network(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                                      detail::PayloadLender& copier, const Network::PacketMemory& packets) {
  return std::make_unique<OfiNetwork>(bootstrap, attributes, copier, packets);
}

Availability availability(const base::Attributes& attributes) try {
  const auto providers = usable_providers(attributes.text(Attribute::ofi_address));
  std::string text;
  for (const std::string& provider : providers) text += (text.empty() ? "" : ", ") + provider;
  if (providers.empty()) return {false, "libfabric has no provider here that weft can use"};
  return {true, "libfabric, with the providers " + text};
} catch (const Error& error) {
  return {false, error.what()};
}

}  // namespace weft::network::ofi
