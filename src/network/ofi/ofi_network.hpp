// Ranks connected through libfabric, with a provider of the host.
#pragma once

#include "base/attributes.hpp"
#include "network/ofi/ofi_endpoint.hpp"
#include "network/session/session_device.hpp"

#include <array>
#include <memory>
#include <mutex>

namespace weft::network::ofi {

class OfiNetwork final : public Network {
 public:
  /// `copier` keeps payloads beyond the quota of receive buffers that messages may hold; it must outlive the
  /// network. Throws weft::Error.
  OfiNetwork(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
             detail::PayloadLender& copier, const Network::PacketMemory& packets);
  ~OfiNetwork() override;

  [[nodiscard]] const char* name() const noexcept override { return "ofi"; }
  [[nodiscard]] Capabilities capabilities() const noexcept override;
  [[nodiscard]] PacketMemory packet_memory() const noexcept override { return resources_->packets.layout(); }
  std::size_t reclaim_packets(std::span<std::uint32_t> indices) noexcept override {
    return resources_->packets.reclaim(indices);
  }
  std::byte* allocate_memory(RegionName name, std::size_t size) override;
  RegionKeys register_memory(RegionName name, std::span<std::byte> memory, bool allocated) override;
  void release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept override;
  std::optional<detail::DirectWindow> map_memory(int, const RemoteMemory&) override { return std::nullopt; }
  std::unique_ptr<Port> open_port(std::uint32_t index, detail::DevicePath& path) override;
  void publish_handle(std::uint16_t id, std::uint16_t generation, HandleState state) noexcept override {
    board_.publish(id, generation, state);
  }
  [[nodiscard]] bool has_contacted_itself() noexcept override;
  void publish_closing(Closing how) noexcept override { peers_.publish_closing(how); }
  [[nodiscard]] Taker taker_of(int peer) noexcept override { return peers_.taker_of(peer); }
  void peer_departed(int peer) noexcept override { peers_.mark_left(peer, ""); }

 private:
  /// Objects that libfabric uses; destroyed from the bottom up.
  struct Resources {
    Resources(const base::Attributes& attributes, const Network::PacketMemory& foreign);
    Fabric fabric;
    ofi::PacketMemory packets;
    std::array<std::unique_ptr<session::SessionDevice>, detail::DevicePath::kMaxDevices> devices;
  };

  bootstrap::Bootstrap& bootstrap_;
  const double drain_seconds_;
  const base::Log log_;
  const std::shared_ptr<Resources> resources_;
  session::Peers peers_;
  session::HandleBoard board_;
  const EndpointContext context_;
  const session::Shared shared_;
  std::mutex mutex_;  // guards the pointers to devices; taken by set-up only
};

}  // namespace weft::network::ofi
