// A network without a peer, for tests of single protocols.
#pragma once

#include "network/network.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weft::test {

/// Accepts every message, keeps the small ones, and says of a peer what `on_gone` says.
class FakePort final : public network::Port {
 public:
  struct Sent {
    network::Outgoing outgoing;
    std::vector<std::byte> payload;
  };
  std::function<bool(int peer)> on_gone = [](int) { return false; };
  std::vector<Sent> sent;  // but for packets
  network::SendResult send_answer = network::SendResult::sent;
  /// What fetch() answers; null: this port cannot fetch, and offers nothing.
  std::function<network::AccessResult(const network::OfferedMemory&, std::span<std::byte>,
                                      std::uint64_t token)>
      on_fetch;
  /// What read() answers; null: this port cannot read.
  std::function<bool(std::uint64_t address, std::span<std::byte>)> on_read;
  /// What land() answers; null: this port opens no landings.
  std::function<network::AccessResult(const network::RemoteLanding&, Bytes, std::uint64_t token)> on_land;
  std::size_t landing_bytes = 0;               // Capabilities::landing_bytes
  std::vector<std::uint64_t> offers;           // keys of those that have not ended
  std::vector<std::span<std::byte>> landings;  // those that are open
  bool has_landings_left = true;

  [[nodiscard]] const network::Capabilities& capabilities() const noexcept override { return capabilities_; }
  [[nodiscard]] const network::Capabilities& peer_capabilities(int) noexcept override {
    capabilities_.can_fetch = on_fetch != nullptr;
    capabilities_.can_read = on_read != nullptr;
    capabilities_.landing_bytes = landing_bytes;
    return capabilities_;
  }
  [[nodiscard]] network::Offer offer(int, Bytes, network::RegionName) noexcept override {
    if (on_fetch == nullptr && on_land == nullptr) return {};
    offers.push_back(++next_key_);
    return {next_key_, nullptr};
  }
  void end_offer(int, const network::Offer& offer) noexcept override { std::erase(offers, offer.key); }
  network::AccessResult fetch(int, const network::OfferedMemory& from, std::span<std::byte> to,
                              std::uint64_t token) noexcept override {
    return on_fetch != nullptr ? on_fetch(from, to, token) : network::AccessResult::unsupported;
  }
  [[nodiscard]] network::Landing open_landing(int, std::span<std::byte> memory) noexcept override {
    if (!has_landings_left) return {};
    landings.push_back(memory);
    return {0x2000, 99, memory.data()};
  }
  void close_landing(int, const network::Landing& landing) noexcept override {
    std::erase_if(landings, [&](const auto& each) { return each.data() == landing.registration; });
  }
  network::AccessResult land(int, const network::RemoteLanding& to, Bytes from, const network::Offer&,
                             std::uint64_t token) noexcept override {
    return on_land != nullptr ? on_land(to, from, token) : network::AccessResult::unsupported;
  }
  network::SendResult send(const network::Outgoing& outgoing, Bytes payload) noexcept override {
    if (send_answer != network::SendResult::sent) return send_answer;
    sent.push_back({outgoing, {payload.begin(), payload.end()}});
    return network::SendResult::sent;
  }
  network::SendResult send_packet(const network::Outgoing&, std::uint32_t, std::size_t) noexcept override {
    return network::SendResult::sent;
  }
  bool read(int, std::uint64_t address, std::span<std::byte> to) noexcept override {
    return on_read != nullptr && on_read(address, to);
  }
  network::AccessResult put(int, const network::RemoteMemory&, Bytes, const std::uint64_t*,
                            std::uint64_t) noexcept override {
    return network::AccessResult::unsupported;
  }
  network::AccessResult get(int, const network::RemoteMemory&, std::span<std::byte>,
                            std::uint64_t) noexcept override {
    return network::AccessResult::unsupported;
  }
  [[nodiscard]] bool has_left(int peer) noexcept override { return on_gone(peer); }
  std::size_t poll(network::Sink&, std::size_t) noexcept override { return 0; }
  bool prepare_park() noexcept override { return true; }
  [[nodiscard]] std::uint32_t park_token() const noexcept override { return 0; }
  bool park(std::uint32_t, std::uint32_t, std::chrono::nanoseconds) noexcept override { return true; }
  void wake(std::uint32_t) noexcept override {}
  [[nodiscard]] bool has_parked() const noexcept override { return false; }
  void quiesce() noexcept override {}
  [[nodiscard]] bool drained() noexcept override { return true; }
  [[nodiscard]] std::string undelivered() override { return {}; }

 private:
  network::Capabilities capabilities_;
  std::uint64_t next_key_ = 0;
};

class FakeNetwork : public network::Network {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "fake"; }
  [[nodiscard]] PacketMemory packet_memory() const noexcept override { return {}; }
  std::size_t reclaim_packets(std::span<std::uint32_t>) noexcept override { return 0; }
  std::byte* allocate_memory(network::RegionName, std::size_t) override { return nullptr; }
  network::RegionKeys register_memory(network::RegionName, std::span<std::byte>, bool) override { return {}; }
  void release_memory(network::RegionName, std::span<std::byte>, bool) noexcept override {}
  std::optional<detail::DirectWindow> map_memory(int, const network::RemoteMemory&) override {
    return std::nullopt;
  }
  std::unique_ptr<network::Port> open_port(std::uint32_t, detail::DevicePath&) override { return nullptr; }
  void publish_handle(std::uint16_t, std::uint16_t, network::HandleState) noexcept override {}
};

class FakeSink final : public network::Sink {
 public:
  std::atomic<int> rejected{0};
  void deliver(network::Batch&) noexcept override {}
  void reject(int, const char*, std::uint64_t) noexcept override { ++rejected; }
  void access_completed(std::uint64_t, Outcome) noexcept override {}
  void immediate_arrived(int, std::uint64_t, std::size_t) noexcept override {}
};

}  // namespace weft::test
