#include "network/sim/sim_network.hpp"

#include "base/host/host.hpp"
#include "base/log.hpp"
#include "concurrent/process_barrier.hpp"
#include "network/sim/port.hpp"

#include <weft/error.hpp>

#include <sys/mman.h>
#include <algorithm>
#include <new>
#include <string>

namespace weft::network::sim {

using base::Attribute;

namespace {

constexpr std::size_t kPacketAlignment = 64;

std::shared_ptr<SimulatedFabric> fabric_of(bootstrap::Bootstrap& bootstrap,
                                           const base::Attributes& attributes) {
  const auto make = [&] {
    return std::make_shared<SimulatedFabric>(SimulationParameters(attributes), bootstrap.size());
  };
  if (bootstrap.size() == 1) return make();
  auto fabric = std::static_pointer_cast<SimulatedFabric>(bootstrap.share_once("sim.simulated fabric", make));
  if (fabric == nullptr)
    throw Error(
        ErrorClass::network,
        "attribute network is \"sim\", and rank " + std::to_string(bootstrap.rank()) + " of " +
            std::to_string(bootstrap.size()) +
            " is a process of its own: sim connects ranks of one process (InProcessJob, sim::Simulation); "
            "take shm");
  return fabric;
}

}  // namespace

SimNetwork::SimNetwork(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                       detail::PayloadLender& copier, std::shared_ptr<SimulatedFabric> fabric)
    : copier_(copier),
      rank_(bootstrap.rank()),
      fabric_(fabric != nullptr ? std::move(fabric) : fabric_of(bootstrap, attributes)) {
  concurrent::register_process_barrier();
  packets_.payload = static_cast<std::size_t>(attributes.integer(Attribute::packet_size)) + kPacketTrailer;
  packets_.count = static_cast<std::uint32_t>(attributes.integer(Attribute::packets));
  packets_.stride = (packets_.payload + kPacketAlignment - 1) / kPacketAlignment * kPacketAlignment;
  const std::shared_ptr<std::byte> memory(
      static_cast<std::byte*>(
          ::operator new (packets_.stride* packets_.count, std::align_val_t{kPacketAlignment})),
      [](std::byte* bytes) { ::operator delete (bytes, std::align_val_t{kPacketAlignment}); });
  packets_.base = memory.get();
  // All ranks together hold at most half of a rank's packets: held messages must not keep it from sending.
  const auto share = packets_.count / (2 * static_cast<std::uint32_t>(bootstrap.size()));
  const auto quota =
      std::min(static_cast<std::uint32_t>(attributes.integer(Attribute::held_packets)), std::max(share, 1U));
  for (int rank = 0; rank < bootstrap.size(); ++rank)
    lent_.push_back(std::make_unique<LentPackets>(*fabric_, rank, quota, copier_));
  fabric_->join(rank_, SimulationParameters(attributes), packets_, memory);
  base::Log(attributes, rank_, base::LogModule::sim).info([&] {
    return "seed " + std::string(attributes.text(Attribute::sim_seed)) + ", delays of up to " +
           std::string(attributes.text(Attribute::sim_delay)) + " ticks, " +
           std::string(attributes.text(Attribute::sim_reorder)) + "% overtake, " +
           std::string(attributes.text(Attribute::sim_refuse)) + "% are refused";
  });
}

SimNetwork::~SimNetwork() { fabric_->leave(rank_); }

std::uint64_t SimNetwork::held_payloads() const noexcept {
  std::uint64_t held = 0;
  for (const auto& packets : lent_) held += packets->held();
  return held;
}

std::uint32_t SimNetwork::packets_away() noexcept { return fabric_->packets_away(rank_); }

std::size_t SimNetwork::reclaim_packets(std::span<std::uint32_t> indices) noexcept {
  return fabric_->reclaim_packets(rank_, indices);
}

std::byte* SimNetwork::allocate_memory(RegionName, std::size_t size) {
  void* memory = ::mmap(nullptr, std::max<std::size_t>(size, 1), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(ErrorClass::network, "a region of " + std::to_string(size) + " bytes cannot be allocated");
  return static_cast<std::byte*>(memory);
}

RegionKeys SimNetwork::register_memory(RegionName name, std::span<std::byte> memory, bool) {
  return fabric_->memory().add_region(rank_, name, memory);
}

void SimNetwork::release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept {
  fabric_->memory().remove_region(rank_, name);
  if (allocated) ::munmap(memory.data(), std::max<std::size_t>(memory.size(), 1));
}

Network::Taker SimNetwork::taker_of(int peer) noexcept {
  // All ranks belong to this process, and only its threads move them.
  if (peer == rank_ || base::is_only_thread()) return Taker::nobody;
  return fabric_->closing(peer) == Closing::no ? Taker::living : Taker::closing;
}

std::optional<detail::DirectWindow> SimNetwork::map_memory(int, const RemoteMemory&) { return std::nullopt; }

std::unique_ptr<Port> SimNetwork::open_port(std::uint32_t index, detail::DevicePath&) {
  return std::make_unique<SimPort>(*fabric_, DeviceAddress{rank_, index}, lent_, copier_);
}

void SimNetwork::publish_handle(std::uint16_t id, std::uint16_t generation, HandleState state) noexcept {
  fabric_->publish_handle(rank_, id, generation, state);
}

}  // namespace weft::network::sim
