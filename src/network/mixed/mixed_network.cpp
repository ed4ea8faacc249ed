#include "network/mixed/mixed_network.hpp"

#include "network/lasting_memory.hpp"
#include "network/mixed/mixed_port.hpp"

#include <algorithm>

namespace weft::network::mixed {

MixedNetwork::MixedNetwork(int ranks, std::unique_ptr<Network> local, std::unique_ptr<Network> remote,
                           const base::Log& log)
    : local_(std::move(local)), remote_(std::move(remote)), routes_(ranks, *local_, *remote_, log) {}

Capabilities MixedNetwork::capabilities() const noexcept {
  const Capabilities local = local_->capabilities();
  const Capabilities remote = remote_->capabilities();
  return {.inline_bytes = std::min(local.inline_bytes, remote.inline_bytes),
          .can_read = local.can_read || remote.can_read,
          .immediate_bytes = std::min(local.immediate_bytes, remote.immediate_bytes),
          .keeps_order = local.keeps_order && remote.keeps_order,
          .can_fetch = local.can_fetch || remote.can_fetch,
          .stages = local.stages || remote.stages,
          .lane_bytes = local.inline_bytes > remote.inline_bytes ? local.inline_bytes : 0};
}

Network::PacketMemory MixedNetwork::packet_memory() const noexcept {
  PacketMemory memory = local_->packet_memory();
  memory.payload = std::min(memory.payload, remote_->packet_memory().payload);
  return memory;
}

std::size_t MixedNetwork::reclaim_packets(std::span<std::uint32_t> indices) noexcept {
  const std::size_t count = local_->reclaim_packets(indices);
  return count + (count < indices.size() ? remote_->reclaim_packets(indices.subspan(count)) : 0);
}

/// The memory belongs to the local network; for the remote one it is like memory of the program, but for
/// addresses that the local one can keep. The keys that travel are those of the remote network: a local one
/// that mapped memory needs none.
RegionKeys MixedNetwork::register_memory(RegionName name, std::span<std::byte> memory, bool allocated) {
  auto* const keeper = allocated ? dynamic_cast<KeepsAddresses*>(local_.get()) : nullptr;
  auto* const reacher = dynamic_cast<ReachesLastingMemory*>(remote_.get());
  const bool lasts = keeper != nullptr && reacher != nullptr;
  if (lasts) keeper->keep_addresses(name);
  const RegionKeys keys =
      lasts ? reacher->register_lasting_memory(name, memory) : remote_->register_memory(name, memory, false);
  static_cast<void>(local_->register_memory(name, memory, allocated));
  return keys;
}

void MixedNetwork::release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept {
  remote_->release_memory(name, memory, false);
  local_->release_memory(name, memory, allocated);
}

std::optional<detail::DirectWindow> MixedNetwork::map_memory(int peer, const RemoteMemory& memory) {
  return network_to(peer).map_memory(peer, memory);
}

std::unique_ptr<Port> MixedNetwork::open_port(std::uint32_t index, detail::DevicePath& path) {
  return std::make_unique<MixedPort>(*local_, *remote_, routes_, capabilities(), index, path);
}

void MixedNetwork::publish_handle(std::uint16_t id, std::uint16_t generation, HandleState state) noexcept {
  local_->publish_handle(id, generation, state);
  remote_->publish_handle(id, generation, state);
}

// At most one of the two networks counts failures by itself; when none does, the bootstrap counts them for
// the peers of both.
const std::atomic<std::uint32_t>* MixedNetwork::failures() const noexcept {
  return local_->failures() != nullptr ? local_->failures() : remote_->failures();
}
bool MixedNetwork::has_failed(int peer) noexcept {
  return local_->has_failed(peer) || remote_->has_failed(peer);
}
const std::atomic<std::uint32_t>* MixedNetwork::departures() const noexcept {
  return local_->departures() != nullptr ? local_->departures() : remote_->departures();
}
bool MixedNetwork::has_left(int peer) noexcept { return local_->has_left(peer) || remote_->has_left(peer); }

void MixedNetwork::peer_departed(int peer) noexcept {
  local_->peer_departed(peer);
  remote_->peer_departed(peer);
}

void MixedNetwork::publish_closing(Closing how) noexcept {
  local_->publish_closing(how);
  remote_->publish_closing(how);
}

}  // namespace weft::network::mixed
