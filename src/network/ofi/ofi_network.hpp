// Ranks connected through libfabric, with whatever provider the host has.
#pragma once

#include "base/attributes.hpp"
#include "network/ofi/device.hpp"

#include <array>
#include <memory>
#include <mutex>

namespace weft::network::ofi {

class OfiNetwork final : public Network {
 public:
  /// `copier` keeps payloads beyond what messages may hold of a device's receive buffers; it must outlive the
  /// network. Throws weft::Error.
  OfiNetwork(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
             detail::PayloadLender& copier);
  ~OfiNetwork() override;

  [[nodiscard]] const char* name() const noexcept override { return "ofi"; }
  [[nodiscard]] PacketMemory packet_memory() const noexcept override { return resources_->packets.layout(); }
  std::size_t reclaim_packets(std::span<std::uint32_t> indices) noexcept override {
    return resources_->packets.reclaim(indices);
  }
  std::byte* allocate_memory(RegionName name, std::size_t size) override;
  RegionKeys register_memory(RegionName name, std::span<std::byte> memory, bool allocated) override;
  void release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept override;
  const detail::DirectWindow* map_memory(int, const RemoteMemory&) override { return nullptr; }
  std::unique_ptr<Port> open_port(std::uint32_t index, detail::DevicePath& path) override;
  void publish_handle(std::uint16_t id, std::uint16_t generation, HandleState state) noexcept override {
    board_.publish(id, generation, state);
  }
  void peer_failed(int peer) noexcept override { peers_.mark_gone(peer, ""); }

 private:
  /// What libfabric uses; destroyed from the bottom up.
  struct Resources {
    Resources(const base::Attributes& attributes);
    Fabric fabric;
    ofi::PacketMemory packets;
    std::array<std::unique_ptr<OfiDevice>, detail::DevicePath::kMaxDevices> devices;
  };

  const double drain_seconds_;
  const base::Log log_;
  const std::shared_ptr<Resources> resources_;
  Peers peers_;
  HandleBoard board_;
  const Shared shared_;
  std::mutex mutex_;  // guards the devices' pointers; taken by set-up only
};

}  // namespace weft::network::ofi
