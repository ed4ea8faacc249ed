// Ranks of one host, connected through segments that they map from each other.
#pragma once

#include "base/attributes.hpp"
#include "bootstrap/bootstrap.hpp"
#include "network/network.hpp"
#include "network/shm/port.hpp"
#include "network/shm/remote_windows.hpp"

namespace weft::network::shm {

class ShmNetwork final : public Network {
 public:
  /// `copier` keeps payloads that exceed the quota of their sender; it must outlive the network.
  ShmNetwork(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
             detail::PayloadLender& copier);
  ~ShmNetwork() override;

  [[nodiscard]] const char* name() const noexcept override { return "shm"; }
  [[nodiscard]] PacketMemory packet_memory() const noexcept override;
  std::size_t reclaim_packets(std::span<std::uint32_t> indices) noexcept override;
  std::byte* allocate_memory(RegionName name, std::size_t size) override;
  RegionKeys register_memory(RegionName name, std::span<std::byte> memory, bool allocated) override;
  void release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept override;
  const detail::DirectWindow* map_memory(int peer, const RemoteMemory& memory) override;
  std::unique_ptr<Port> open_port(std::uint32_t index, detail::DevicePath& path) override;
  void publish_handle(std::uint16_t id, std::uint16_t generation, HandleState state) noexcept override;
  void peer_failed(int peer) noexcept override;

 private:
  detail::PayloadLender& copier_;
  const std::shared_ptr<Segment> segment_;
  const std::shared_ptr<AllocatedMemory> memory_;
  Peers peers_;
  RemoteWindows remote_windows_;
  PacketReturns packet_returns_;
  std::vector<std::unique_ptr<PeerPackets>> peer_packets_;
  Shared shared_;
};

}  // namespace weft::network::shm
