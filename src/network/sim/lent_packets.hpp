// Packets of one peer that messages of this rank hold.
#pragma once

#include "network/sim/simulated_fabric.hpp"

#include <weft/message.hpp>

#include <atomic>

namespace weft::network::sim {

/// Lets messages hold up to a quota of a peer's packets, and returns the packets. Any thread.
class LentPackets final : public detail::PayloadLender, public PayloadOwner {
 public:
  /// Beyond `quota` packets, payloads are kept by `copier` instead.
  LentPackets(SimulatedFabric& fabric, int owner, std::uint32_t quota, detail::PayloadLender& copier) noexcept
      : fabric_(fabric), owner_(owner), quota_(quota), copier_(copier) {}

  PayloadOwner* keep(const std::byte*& data, std::size_t size, std::uint64_t& cookie) noexcept override {
    if (held_.fetch_add(1, std::memory_order_relaxed) < quota_) return this;
    held_.fetch_sub(1, std::memory_order_relaxed);
    return copier_.keep(data, size, cookie);
  }
  std::byte* allocate(std::size_t) noexcept override { return nullptr; }
  void release(std::byte*, std::size_t, std::uint64_t cookie) noexcept override {
    fabric_.return_packet(owner_, static_cast<std::uint32_t>(cookie));
    held_.fetch_sub(1, std::memory_order_relaxed);
  }
  /// The number of packets that messages hold.
  [[nodiscard]] std::uint32_t held() const noexcept { return held_.load(std::memory_order_relaxed); }

 private:
  SimulatedFabric& fabric_;
  const int owner_;
  const std::uint32_t quota_;
  detail::PayloadLender& copier_;
  std::atomic<std::uint32_t> held_{0};
};

}  // namespace weft::network::sim
