// A device that reaches some peers by a local network and the others by a remote one.
#pragma once

#include "network/long_ways.hpp"
#include "network/mixed/remote_turns.hpp"
#include "network/mixed/remote_watch.hpp"
#include "network/mixed/routes.hpp"
#include "network/network.hpp"
#include "network/unsent.hpp"

#include <memory>
#include <string>
#include <vector>

namespace weft::network::mixed {

class MixedPort final : public Port, public HoldsUnsent, public KnowsLongWays {
 public:
  /// `path` gets the lanes of the local network; peers of the remote one have none there.
  MixedPort(Network& local, Network& remote, Routes& routes, const Capabilities& of_all, std::uint32_t index,
            detail::DevicePath& path);

  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return of_all_; }
  [[nodiscard]] const Capabilities& peer_capabilities(int peer) noexcept override {
    return port_to(peer).peer_capabilities(peer);
  }
  SendResult send(const Outgoing& outgoing, Bytes payload) noexcept override;
  SendResult send_packet(const Outgoing& outgoing, std::uint32_t packet, std::size_t size) noexcept override;
  void set_exclusive(bool exclusive) noexcept override {
    local_->set_exclusive(exclusive);
    remote_->set_exclusive(exclusive);
  }
  bool flush() noexcept override {
    const bool is_local_done = local_->flush();
    return remote_->flush() && is_local_done;
  }
  [[nodiscard]] std::uint32_t most_under_way(int peer, std::uint8_t device) noexcept override {
    auto* const ways = routes_.is_remote(peer) ? dynamic_cast<KnowsLongWays*>(remote_.get()) : nullptr;
    return ways == nullptr ? 0 : ways->most_under_way(peer, device);
  }
  bool read(int peer, std::uint64_t address, std::span<std::byte> local) noexcept override {
    return port_to(peer).read(peer, address, local);
  }
  AccessResult put(int peer, const RemoteMemory& to, Bytes from, const std::uint64_t* immediate,
                   std::uint64_t token) noexcept override {
    return port_to(peer).put(peer, to, from, immediate, token);
  }
  AccessResult get(int peer, const RemoteMemory& from, std::span<std::byte> to,
                   std::uint64_t token) noexcept override {
    return port_to(peer).get(peer, from, to, token);
  }
  [[nodiscard]] Offer offer(int peer, Bytes memory, RegionName region) noexcept override {
    return port_to(peer).offer(peer, memory, region);
  }
  void end_offer(int peer, const Offer& offer) noexcept override { port_to(peer).end_offer(peer, offer); }
  AccessResult fetch(int peer, const OfferedMemory& from, std::span<std::byte> to,
                     std::uint64_t token) noexcept override {
    return port_to(peer).fetch(peer, from, to, token);
  }
  [[nodiscard]] Landing open_landing(int peer, std::span<std::byte> memory) noexcept override {
    return port_to(peer).open_landing(peer, memory);
  }
  void close_landing(int peer, const Landing& landing) noexcept override {
    port_to(peer).close_landing(peer, landing);
  }
  AccessResult land(int peer, const RemoteLanding& to, Bytes from, const Offer& offer,
                    std::uint64_t token) noexcept override {
    return port_to(peer).land(peer, to, from, offer, token);
  }
  void stop_fetches() noexcept override {
    local_->stop_fetches();
    remote_->stop_fetches();
  }
  AccessResult locate(int peer, const RemoteMemory& memory, std::size_t size,
                      std::byte*& address) noexcept override {
    return port_to(peer).locate(peer, memory, size, address);
  }
  [[nodiscard]] bool has_left(int peer) noexcept override;
  [[nodiscard]] bool is_cut_off() noexcept override { return local_->is_cut_off() || remote_->is_cut_off(); }
  bool reclaim(int peer) noexcept override;
  std::size_t poll(Sink& sink, std::size_t limit) noexcept override;
  bool prepare_park() noexcept override;
  [[nodiscard]] std::uint32_t park_token() const noexcept override;
  bool park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept override;
  void wake(std::uint32_t bits) noexcept override;
  [[nodiscard]] bool has_parked() const noexcept override { return local_->has_parked(); }
  [[nodiscard]] Traffic traffic() noexcept override;
  void quiesce() noexcept override;
  [[nodiscard]] bool drained() noexcept override;
  [[nodiscard]] std::string undelivered() override;
  [[nodiscard]] std::vector<Unconsumed> unconsumed() override;
  void carry() noexcept override;
  void describe_unsent(std::vector<std::string>& lines) override;

 private:
  /// The port for what this rank sends to the peer; the local one for a peer that has not joined yet, which
  /// answers so.
  [[nodiscard]] Port& port_to(int peer) noexcept { return routes_.is_remote(peer) ? *remote_ : *local_; }

  std::size_t poll_remote(Sink& sink, std::size_t limit, const Polls& polls) noexcept;

  Routes& routes_;
  const Capabilities of_all_;
  RemoteTurns turns_;
  detail::DevicePath no_path_;  // of the remote network, whose peers have no lanes
  const std::unique_ptr<Port> local_;
  const std::unique_ptr<Port> remote_;
  std::atomic<bool> has_sent_{false};  // the remote network may have staged messages
  RemoteWatch watch_;                  // ends before the ports
};

}  // namespace weft::network::mixed
