#include "network/ofi/ofi_network.hpp"

#include "base/clock.hpp"
#include "concurrent/process_barrier.hpp"
#include "network/ofi/ofi.hpp"
#include "network/ofi/port.hpp"

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

/// Longer messages leave the providers' eager protocols (16 KiB in ofi_rxm, with its header), whose
/// rendezvous does not end over tcp;ofi_rxm.
constexpr std::size_t kLongestPacket = 15 * 1024;

std::size_t packet_bytes_of(const base::Attributes& attributes) {
  return std::min(number<std::size_t>(attributes, Attribute::packet_size), kLongestPacket);
}

/// Here a payload without a packet is copied into a buffer of the network, which saves nothing beyond that.
constexpr std::size_t kLongestCopied = 432;

std::size_t inline_bytes_of(const base::Attributes& attributes) {
  const auto inline_max = number<std::size_t>(attributes, Attribute::inline_max);
  return std::max(std::min(inline_max, kLongestCopied), kSmallestSend);
}

}  // namespace

OfiNetwork::Resources::Resources(const base::Attributes& attributes)
    : fabric(attributes.text(Attribute::ofi_provider), attributes.text(Attribute::ofi_address)),
      packets(fabric, number<std::uint32_t>(attributes, Attribute::packets),
              packet_bytes_of(attributes) + kPacketTrailer) {}

OfiNetwork::OfiNetwork(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                       detail::PayloadLender& copier)
    : drain_seconds_(attributes.seconds(Attribute::drain_timeout)),
      log_(attributes, bootstrap.rank(), base::LogModule::ofi),
      resources_(std::make_shared<Resources>(attributes)),
      peers_(bootstrap, resources_->fabric.provider(),
             sizeof(Header) + std::max(resources_->packets.layout().payload, inline_bytes_of(attributes)),
             log_),
      shared_{resources_->fabric,
              peers_,
              board_,
              resources_->packets,
              copier,
              log_,
              inline_bytes_of(attributes),
              number<std::uint32_t>(attributes, Attribute::ofi_credits),
              std::min(number<std::uint32_t>(attributes, Attribute::held_packets),
                       std::max(number<std::uint32_t>(attributes, Attribute::ofi_credits) / 4, 1U))} {
  concurrent::register_process_barrier();
  log_.info([&] {
    return "provider " + std::string(resources_->fabric.provider()) + ", " + std::to_string(shared_.credits) +
           " messages under way between two devices in each class";
  });
}

OfiNetwork::~OfiNetwork() {
  const std::int64_t until = base::now_ns() + base::seconds_to_ns(drain_seconds_);
  for (auto& device : resources_->devices)
    if (device != nullptr) device->finish(until);
  for (auto& device : resources_->devices)
    if (device != nullptr) device->say_goodbye();
  // Endpoints of this provider write directly into those of the same process, closed or not.
  if (resources_->fabric.provider() == "shm") peers_.keep_for_others(resources_);
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

std::unique_ptr<Port> OfiNetwork::open_port(std::uint32_t index, detail::DevicePath& path) {
  const std::lock_guard lock(mutex_);
  auto& device = resources_->devices[index];
  if (device == nullptr) device = std::make_unique<OfiDevice>(shared_, index);
  Capabilities capabilities;
  capabilities.inline_bytes = shared_.inline_bytes;
  return std::make_unique<OfiPort>(*device, peers_, capabilities, path);
}

std::unique_ptr<Network> make_network(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                                      detail::PayloadLender& copier) {
  return std::make_unique<OfiNetwork>(bootstrap, attributes, copier);
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
