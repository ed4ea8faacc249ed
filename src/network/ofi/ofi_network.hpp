// Ranks connected through libfabric, with a provider of the host.
#pragma once

#include "network/lasting_memory.hpp"
#include "network/ofi/ofi_endpoint.hpp"
#include "network/session/session_network.hpp"

#include <memory>
#include <span>

namespace weft::network::ofi {

/// Objects that libfabric uses; destroyed from the bottom up.
struct Resources {
  /// `foreign`: packets of another network, or none. Throws weft::Error.
  Resources(const bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
            const Network::PacketMemory& foreign);
  Fabric fabric;
  std::unique_ptr<AccessDomain> accesses;  // null: puts and gets go by messages
  ofi::PacketMemory packets;
  session::Devices devices;
};

class OfiNetwork final : public session::SessionNetwork, public ReachesLastingMemory {
 public:
  /// `copier` keeps payloads beyond the quota of receive buffers that messages may hold; it must outlive the
  /// network. Throws weft::Error.
  OfiNetwork(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
             detail::PayloadLender& copier, std::unique_ptr<Resources> resources);
  ~OfiNetwork() override { end(); }

  [[nodiscard]] const char* name() const noexcept override { return "ofi"; }
  [[nodiscard]] Capabilities capabilities() const noexcept override;
  RegionKeys register_memory(RegionName name, std::span<std::byte> memory, bool allocated) override;
  RegionKeys register_lasting_memory(RegionName name, std::span<std::byte> memory) override;
  void release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept override;
  [[nodiscard]] PacketMemory packet_memory() const noexcept override { return resources_->packets.layout(); }
  std::size_t reclaim_packets(std::span<std::uint32_t> indices) noexcept override {
    return resources_->packets.reclaim(indices);
  }

 private:
  [[nodiscard]] std::unique_ptr<session::Transport> make_transport(std::uint32_t index) override {
    return std::make_unique<OfiEndpoint>(context_, index);
  }
  [[nodiscard]] session::Devices& devices() noexcept override { return resources_->devices; }

  const std::unique_ptr<Resources> resources_;
  const EndpointContext context_;
};

}  // namespace weft::network::ofi
