// A port that records its traffic in a trace. Replaces the network's own port while the attribute `trace`
// asks for it; then every post takes the slow path, and the device needs no knowledge of the trace.
#pragma once

#include "core/diagnosis/trace.hpp"
#include "network/network.hpp"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace weft::detail {

class TracedPort final : public network::Port {
 public:
  TracedPort(std::unique_ptr<network::Port> port, core::Tracer& tracer, std::uint32_t device, int ranks);

  [[nodiscard]] const network::Capabilities& capabilities() const noexcept override {
    return port_->capabilities();
  }
  [[nodiscard]] const network::Capabilities& peer_capabilities(int peer) noexcept override {
    return port_->peer_capabilities(peer);
  }
  network::SendResult send(const network::Outgoing& outgoing, Bytes payload) noexcept override;
  network::SendResult send_packet(const network::Outgoing& outgoing, std::uint32_t packet,
                                  std::size_t size) noexcept override;
  void set_exclusive(bool exclusive) noexcept override { port_->set_exclusive(exclusive); }
  bool flush() noexcept override { return port_->flush(); }
  [[nodiscard]] int wait_descriptor() const noexcept override { return port_->wait_descriptor(); }
  [[nodiscard]] bool arm() noexcept override { return port_->arm(); }
  bool read(int peer, std::uint64_t address, std::span<std::byte> local) noexcept override;
  network::AccessResult put(int peer, const network::RemoteMemory& to, Bytes from,
                            const std::uint64_t* immediate, std::uint64_t token) noexcept override;
  network::AccessResult get(int peer, const network::RemoteMemory& from, std::span<std::byte> to,
                            std::uint64_t token) noexcept override;
  network::AccessResult atomic(int peer, const network::RemoteMemory& where,
                               const network::NativeAtomic& change, std::byte* old,
                               std::uint64_t token) noexcept override;
  [[nodiscard]] network::Offer offer(int peer, Bytes memory, network::RegionName region) noexcept override {
    return port_->offer(peer, memory, region);
  }
  void end_offer(int peer, const network::Offer& offer) noexcept override { port_->end_offer(peer, offer); }
  network::AccessResult fetch(int peer, const network::OfferedMemory& from, std::span<std::byte> to,
                              std::uint64_t token) noexcept override {
    return port_->fetch(peer, from, to, token);
  }
  [[nodiscard]] network::Landing open_landing(int peer, std::span<std::byte> memory) noexcept override {
    return port_->open_landing(peer, memory);
  }
  void close_landing(int peer, const network::Landing& landing) noexcept override {
    port_->close_landing(peer, landing);
  }
  network::AccessResult land(int peer, const network::RemoteLanding& to, Bytes from,
                             const network::Offer& offer, std::uint64_t token) noexcept override {
    return port_->land(peer, to, from, offer, token);
  }
  void stop_fetches() noexcept override { port_->stop_fetches(); }
  network::AccessResult locate(int peer, const network::RemoteMemory& memory, std::size_t size,
                               std::byte*& address) noexcept override {
    return port_->locate(peer, memory, size, address);
  }
  [[nodiscard]] bool has_left(int peer) noexcept override { return port_->has_left(peer); }
  [[nodiscard]] bool is_cut_off() noexcept override { return port_->is_cut_off(); }
  bool reclaim(int peer) noexcept override;
  std::size_t poll(network::Sink& sink, std::size_t limit) noexcept override;
  bool prepare_park() noexcept override { return port_->prepare_park(); }
  [[nodiscard]] std::uint32_t park_token() const noexcept override { return port_->park_token(); }
  bool park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept override;
  void wake(std::uint32_t bits) noexcept override;
  [[nodiscard]] bool has_parked() const noexcept override { return port_->has_parked(); }
  [[nodiscard]] Traffic traffic() noexcept override { return port_->traffic(); }
  void quiesce() noexcept override { port_->quiesce(); }
  [[nodiscard]] bool drained() noexcept override { return port_->drained(); }
  [[nodiscard]] std::string undelivered() override { return port_->undelivered(); }
  [[nodiscard]] std::vector<Unconsumed> unconsumed() override { return port_->unconsumed(); }

 private:
  class TracedSink;
  static constexpr std::size_t kChannels = 32;

  template <class Call>
  network::SendResult traced(const network::Outgoing& outgoing, std::size_t size, const Call& call) noexcept;
  template <class Call>
  network::AccessResult traced(const char* name, int peer, std::size_t size, const Call& call) noexcept;
  [[nodiscard]] core::TraceEvent event(const char* category, const char* name, int peer) const noexcept;
  [[nodiscard]] std::uint64_t flow(int from, int to, std::uint8_t device, std::uint8_t channel,
                                   std::uint64_t number) const noexcept;

  const std::unique_ptr<network::Port> port_;
  core::Tracer& tracer_;
  const std::uint8_t device_;
  const int ranks_;
  /// The number of messages so far, for flows: it is the same at both ends where the network keeps the order,
  /// as it does within one class of traffic.
  struct Sent {
    std::uint64_t messages = 0;
    network::TrafficClass traffic{};  // of the first message
    bool is_mixed = false;            // messages of another traffic class have followed
  };
  std::mutex sending_;                                                // guards sent_
  std::map<std::tuple<int, std::uint8_t, std::uint8_t>, Sent> sent_;  // by peer, device, channel
  const std::unique_ptr<std::array<std::atomic<std::uint64_t>, kChannels>[]> got_;  // by peer, channel
};

}  // namespace weft::detail
