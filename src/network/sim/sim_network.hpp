// A simulated network: a rank's membership of a SimulatedFabric.
#pragma once

#include "base/attributes.hpp"
#include "bootstrap/bootstrap.hpp"
#include "network/network.hpp"
#include "network/sim/lent_packets.hpp"
#include "network/sim/simulated_fabric.hpp"

namespace weft::network::sim {

class SimNetwork final : public Network {
 public:
  /// Joins `simulated_fabric`, or, when that is null, the fabric that the ranks of the job share. Throws
  /// weft::Error when ranks are processes. `copier` must outlive the network.
  SimNetwork(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
             detail::PayloadLender& copier, std::shared_ptr<SimulatedFabric> fabric = nullptr);
  ~SimNetwork() override;

  [[nodiscard]] const char* name() const noexcept override { return "sim"; }
  [[nodiscard]] Capabilities capabilities() const noexcept override {
    return {fabric_->parameters().inject, fabric_->parameters().rma, fabric_->parameters().immediate};
  }
  [[nodiscard]] PacketMemory packet_memory() const noexcept override { return packets_; }
  std::size_t reclaim_packets(std::span<std::uint32_t> indices) noexcept override;
  [[nodiscard]] std::uint32_t packets_away() noexcept override;
  [[nodiscard]] std::uint64_t held_payloads() const noexcept override;
  std::byte* allocate_memory(RegionName name, std::size_t size) override;
  RegionKeys register_memory(RegionName name, std::span<std::byte> memory, bool allocated) override;
  void release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept override;
  std::optional<detail::DirectWindow> map_memory(int peer, const RemoteMemory& memory) override;
  std::unique_ptr<Port> open_port(std::uint32_t index, detail::DevicePath& path) override;
  [[nodiscard]] const std::atomic<std::uint32_t>* failures() const noexcept override {
    return &fabric_->failures();
  }
  [[nodiscard]] bool has_failed(int peer) noexcept override { return fabric_->has_failed(peer); }
  [[nodiscard]] const std::atomic<std::uint32_t>* departures() const noexcept override {
    return &fabric_->departures();
  }
  [[nodiscard]] bool has_left(int peer) noexcept override { return fabric_->has_left(peer); }
  void publish_closing(Closing how) noexcept override { fabric_->publish_closing(rank_, how); }
  [[nodiscard]] Taker taker_of(int peer) noexcept override;
  [[nodiscard]] bool has_contacted_itself() noexcept override {
    return fabric_->messages().has_lane(rank_, rank_);
  }
  [[nodiscard]] bool keeps_messages_for(int) noexcept override { return true; }
  void publish_handle(std::uint16_t id, std::uint16_t generation, HandleState state) noexcept override;

 private:
  detail::PayloadLender& copier_;
  const int rank_;
  const std::shared_ptr<SimulatedFabric> fabric_;
  PacketMemory packets_;
  std::vector<std::unique_ptr<LentPackets>> lent_;  // by rank
};

}  // namespace weft::network::sim
