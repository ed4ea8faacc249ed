// The part of the simulated network that belongs to one device.
#pragma once

#include "network/network.hpp"
#include "network/sim/lent_packets.hpp"
#include "network/sim/simulated_fabric.hpp"

#include <memory>
#include <vector>

namespace weft::network::sim {

class SimPort final : public Port {
 public:
  SimPort(SimulatedFabric& fabric, DeviceAddress address, std::vector<std::unique_ptr<LentPackets>>& lent,
          detail::PayloadLender& copier);
  ~SimPort() override;

  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  void set_exclusive(bool exclusive) noexcept override {
    mailbox_.exclusive.store(exclusive, std::memory_order_relaxed);
  }
  SendResult send(const Outgoing& outgoing, Bytes payload) noexcept override;
  SendResult send_packet(const Outgoing& outgoing, std::uint32_t packet, std::size_t size) noexcept override;
  bool read(int peer, std::uint64_t address, std::span<std::byte> local) noexcept override;
  AccessResult put(int peer, const RemoteMemory& to, Bytes from, const std::uint64_t* immediate,
                   std::uint64_t token) noexcept override;
  AccessResult get(int peer, const RemoteMemory& from, std::span<std::byte> to,
                   std::uint64_t token) noexcept override;
  [[nodiscard]] Offer offer(int, Bytes memory, RegionName) noexcept override {
    return fabric_.memory().offer(address_.rank, memory);
  }
  void end_offer(int, const Offer& offer) noexcept override {
    fabric_.memory().end_offer(address_.rank, offer);
  }
  AccessResult fetch(int peer, const OfferedMemory& from, std::span<std::byte> to,
                     std::uint64_t token) noexcept override {
    return fabric_.memory().fetch(address_, peer, from, to, token);
  }
  void stop_fetches() noexcept override { fabric_.memory().stop_fetches(address_); }
  [[nodiscard]] bool has_left(int peer) noexcept override { return fabric_.has_left(address_.rank, peer); }
  [[nodiscard]] bool is_cut_off() noexcept override { return fabric_.is_killed(address_.rank); }
  bool reclaim(int peer) noexcept override { return !fabric_.messages().has_traffic(peer, address_); }
  std::size_t poll(Sink& sink, std::size_t limit) noexcept override;
  bool prepare_park() noexcept override;
  [[nodiscard]] std::uint32_t park_token() const noexcept override;
  bool park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept override;
  void wake(std::uint32_t bits) noexcept override;
  [[nodiscard]] bool has_parked() const noexcept override;
  void quiesce() noexcept override { fabric_.messages().quiesce(mailbox_); }
  [[nodiscard]] bool drained() noexcept override { return fabric_.messages().drained(address_); }
  [[nodiscard]] std::string undelivered() override;
  [[nodiscard]] std::vector<Unconsumed> unconsumed() override {
    return fabric_.messages().unconsumed(address_);
  }
  [[nodiscard]] Traffic traffic() noexcept override;

 private:
  bool hand_over(Sink& sink, Delivery& delivery) noexcept;

  SimulatedFabric& fabric_;
  const DeviceAddress address_;
  std::vector<std::unique_ptr<LentPackets>>& lent_;  // by rank
  detail::PayloadLender& copier_;
  const Capabilities capabilities_;
  Mailbox& mailbox_;
  std::atomic<std::uint64_t> delivered_{0};
  std::atomic<std::uint64_t> delivered_bytes_{0};
};

}  // namespace weft::network::sim
