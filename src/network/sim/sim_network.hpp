// A simulated network: a rank's membership of a World.
#pragma once

#include "base/attributes.hpp"
#include "bootstrap/bootstrap.hpp"
#include "network/network.hpp"
#include "network/sim/lent_packets.hpp"
#include "network/sim/world.hpp"

namespace weft::network::sim {

class SimNetwork final : public Network {
 public:
  /// Joins `world`, or, when that is null, the one that the ranks of the job share. Throws weft::Error where
  /// ranks are processes. `copier` must outlive the network.
  SimNetwork(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
             detail::PayloadLender& copier, std::shared_ptr<World> world = nullptr);
  ~SimNetwork() override;

  [[nodiscard]] const char* name() const noexcept override { return "sim"; }
  [[nodiscard]] PacketMemory packet_memory() const noexcept override { return packets_; }
  std::size_t reclaim_packets(std::span<std::uint32_t> indices) noexcept override;
  std::byte* allocate_memory(RegionName name, std::size_t size) override;
  RegionKeys register_memory(RegionName name, std::span<std::byte> memory, bool allocated) override;
  void release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept override;
  const detail::DirectWindow* map_memory(int peer, const RemoteMemory& memory) override;
  std::unique_ptr<Port> open_port(std::uint32_t index, detail::DevicePath& path) override;
  [[nodiscard]] const std::atomic<std::uint32_t>* failures() const noexcept override {
    return &world_->failures();
  }
  [[nodiscard]] bool has_failed(int peer) noexcept override { return world_->has_failed(peer); }
  void publish_handle(std::uint16_t id, std::uint16_t generation, HandleState state) noexcept override;

 private:
  detail::PayloadLender& copier_;
  const int rank_;
  const std::shared_ptr<World> world_;
  PacketMemory packets_;
  std::vector<std::unique_ptr<LentPackets>> lent_;  // by rank
};

}  // namespace weft::network::sim
