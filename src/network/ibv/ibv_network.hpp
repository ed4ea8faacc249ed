// Ranks connected by queue pairs of an RDMA device.
#pragma once

#include "network/ibv/ibv_endpoint.hpp"
#include "network/ibv/memory/registered_regions.hpp"
#include "network/session/session_network.hpp"

#include <memory>

namespace weft::network::ibv {

class IbvNetwork final : public session::SessionNetwork {
 public:
  /// `copier` keeps payloads that the program keeps; it must outlive the network. Throws weft::Error.
  IbvNetwork(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
             detail::PayloadLender& copier, const Network::PacketMemory& packets);
  ~IbvNetwork() override { end(); }

  [[nodiscard]] const char* name() const noexcept override { return "ibv"; }
  [[nodiscard]] Capabilities capabilities() const noexcept override;
  RegionKeys register_memory(RegionName name, std::span<std::byte> memory, bool allocated) override;
  void release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept override;
  [[nodiscard]] bool has_native_atomics() const noexcept override { return device_.has_atomics(); }
  [[nodiscard]] PacketMemory packet_memory() const noexcept override { return packets_.layout(); }
  std::size_t reclaim_packets(std::span<std::uint32_t> indices) noexcept override {
    return packets_.reclaim(indices);
  }

 private:
  [[nodiscard]] std::unique_ptr<session::Transport> make_transport(std::uint32_t index) override {
    return std::make_unique<IbvEndpoint>(context_, index);
  }
  [[nodiscard]] session::Devices& devices() noexcept override { return devices_; }

  Device device_;
  ibv::PacketMemory packets_;
  RegisteredRegions regions_;
  DeviceEvents events_;
  const RankResources context_;
  session::Devices devices_;
};

}  // namespace weft::network::ibv
