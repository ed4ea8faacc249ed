// The network as the protocols of a device see it: its port, and a count of the messages that it accepts.
#pragma once

#include "core/backlog/caller.hpp"
#include "core/diagnosis/device_counts.hpp"
#include "network/network.hpp"

#include <cstdint>

namespace weft::core {

/// Stands for a pointer to a port. Calls that send are counted by their result.
class ObservedPort {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): takes the place of the pointer
  ObservedPort(network::Port* port, DeviceCounts* counts = nullptr) noexcept : port_(port), counts_(counts) {}

  [[nodiscard]] const ObservedPort* operator->() const noexcept { return this; }
  /// The port as one with this ability; null: it has not got it.
  template <class Ability>
  [[nodiscard]] Ability* as() const noexcept {
    return dynamic_cast<Ability*>(port_);
  }
  /// From now on this object stands for another port.
  void replace(network::Port& port) noexcept { port_ = &port; }

  network::SendResult send(const network::Outgoing& outgoing, Bytes payload, Caller caller) const noexcept {
    return counted(port_->send(outgoing, payload), outgoing, payload.size(), caller);
  }
  network::SendResult send_packet(const network::Outgoing& outgoing, std::uint32_t packet, std::size_t size,
                                  Caller caller) const noexcept {
    return counted(port_->send_packet(outgoing, packet, size), outgoing, size, caller);
  }
  bool flush() const noexcept { return port_->flush(); }
  bool read(int peer, std::uint64_t address, std::span<std::byte> local) const noexcept {
    return port_->read(peer, address, local);
  }
  network::AccessResult put(int peer, const network::RemoteMemory& to, Bytes from,
                            const std::uint64_t* immediate, std::uint64_t token) const noexcept {
    return port_->put(peer, to, from, immediate, token);
  }
  network::AccessResult get(int peer, const network::RemoteMemory& from, std::span<std::byte> to,
                            std::uint64_t token) const noexcept {
    return port_->get(peer, from, to, token);
  }
  network::AccessResult atomic(int peer, const network::RemoteMemory& where,
                               const network::NativeAtomic& change, std::byte* old,
                               std::uint64_t token) const noexcept {
    return port_->atomic(peer, where, change, old, token);
  }
  [[nodiscard]] network::Offer offer(int peer, Bytes memory, network::RegionName region) const noexcept {
    return port_->offer(peer, memory, region);
  }
  void end_offer(int peer, const network::Offer& offer) const noexcept { port_->end_offer(peer, offer); }
  network::AccessResult fetch(int peer, const network::OfferedMemory& from, std::span<std::byte> to,
                              std::uint64_t token) const noexcept {
    return port_->fetch(peer, from, to, token);
  }
  [[nodiscard]] network::Landing open_landing(int peer, std::span<std::byte> memory) const noexcept {
    return port_->open_landing(peer, memory);
  }
  void close_landing(int peer, const network::Landing& landing) const noexcept {
    port_->close_landing(peer, landing);
  }
  network::AccessResult land(int peer, const network::RemoteLanding& to, Bytes from,
                             const network::Offer& offer, std::uint64_t token) const noexcept {
    return port_->land(peer, to, from, offer, token);
  }
  network::AccessResult locate(int peer, const network::RemoteMemory& memory, std::size_t size,
                               std::byte*& address) const noexcept {
    return port_->locate(peer, memory, size, address);
  }
  [[nodiscard]] const network::Capabilities& capabilities() const noexcept { return port_->capabilities(); }
  [[nodiscard]] const network::Capabilities& peer_capabilities(int peer) const noexcept {
    return port_->peer_capabilities(peer);
  }
  [[nodiscard]] bool has_left(int peer) const noexcept { return port_->has_left(peer); }
  [[nodiscard]] bool has_parked() const noexcept { return port_->has_parked(); }
  void wake(std::uint32_t bits) const noexcept { port_->wake(bits); }

 private:
  network::SendResult counted(network::SendResult result, const network::Outgoing& outgoing, std::size_t size,
                              Caller caller) const noexcept {
    if (counts_ == nullptr) [[unlikely]]
      return result;
    if (result == network::SendResult::sent) [[likely]]
      counts_->sent.add(outgoing.channel, size, caller.exclusive);
    else if (result == network::SendResult::lock_contended)
      counts_->lock_misses.add();
    return result;
  }

  network::Port* port_;
  DeviceCounts* counts_;
};

}  // namespace weft::core
