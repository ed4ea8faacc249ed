// Two networks behind one interface: a local one for the peers that it reaches, as ranks of this host, and a
// remote one for the others. docs/internals/network/mixed.md.
#pragma once

#include "network/mixed/routes.hpp"
#include "network/network.hpp"

#include <memory>

namespace weft::network::mixed {

class MixedNetwork final : public Network {
 public:
  /// The packets are those of `local`; `remote` was made so that it sends them as well.
  MixedNetwork(int ranks, std::unique_ptr<Network> local, std::unique_ptr<Network> remote,
               const base::Log& log);

  [[nodiscard]] const char* name() const noexcept override { return "mixed"; }
  [[nodiscard]] Capabilities capabilities() const noexcept override;
  [[nodiscard]] Reach reach(int) noexcept override { return Reach::local; }
  [[nodiscard]] PacketMemory packet_memory() const noexcept override;
  std::size_t reclaim_packets(std::span<std::uint32_t> indices) noexcept override;
  [[nodiscard]] std::uint32_t packets_away() noexcept override {
    return local_->packets_away() + remote_->packets_away();
  }
  [[nodiscard]] std::uint64_t held_payloads() const noexcept override {
    return local_->held_payloads() + remote_->held_payloads();
  }
  std::byte* allocate_memory(RegionName name, std::size_t size) override {
    return local_->allocate_memory(name, size);
  }
  RegionKeys register_memory(RegionName name, std::span<std::byte> memory, bool allocated) override;
  void release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept override;
  std::optional<detail::DirectWindow> map_memory(int peer, const RemoteMemory& memory) override;
  std::unique_ptr<Port> open_port(std::uint32_t index, detail::DevicePath& path) override;
  void publish_handle(std::uint16_t id, std::uint16_t generation, HandleState state) noexcept override;

  [[nodiscard]] const std::atomic<std::uint32_t>* failures() const noexcept override;
  [[nodiscard]] bool has_failed(int peer) noexcept override;
  [[nodiscard]] const std::atomic<std::uint32_t>* departures() const noexcept override;
  [[nodiscard]] bool has_left(int peer) noexcept override;
  void peer_departed(int peer) noexcept override;
  void publish_closing(Closing how) noexcept override;
  [[nodiscard]] Taker taker_of(int peer) noexcept override { return network_to(peer).taker_of(peer); }
  [[nodiscard]] bool has_contacted_itself() noexcept override { return local_->has_contacted_itself(); }
  [[nodiscard]] bool keeps_messages_for(int peer) noexcept override {
    return network_to(peer).keeps_messages_for(peer);
  }

 private:
  [[nodiscard]] Network& network_to(int peer) noexcept {
    return routes_.is_remote(peer) ? *remote_ : *local_;
  }

  // The remote network ends first, because it uses the packets of the local one.
  const std::unique_ptr<Network> local_;
  const std::unique_ptr<Network> remote_;
  Routes routes_;
};

}  // namespace weft::network::mixed
