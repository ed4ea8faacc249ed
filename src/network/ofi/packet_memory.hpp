// The memory of the packet pool, registered for sending.
#pragma once

#include "concurrent/mpsc_list.hpp"
#include "network/network.hpp"
#include "network/ofi/fabric.hpp"
#include "network/session/message_format.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace weft::network::ofi {

class PacketMemory {
 public:
  /// With packets of another network (`foreign`, unless its base is null): registers these, which must
  /// outlive this object. Throws weft::Error.
  PacketMemory(Fabric& fabric, std::uint32_t count, std::size_t payload,
               const Network::PacketMemory& foreign = {});
  ~PacketMemory();
  PacketMemory(const PacketMemory&) = delete;
  PacketMemory& operator=(const PacketMemory&) = delete;

  [[nodiscard]] Network::PacketMemory layout() const noexcept;
  /// Returns true when the packets belong to another network, so that a header has no room in front of them.
  [[nodiscard]] bool is_foreign() const noexcept { return !is_own_; }
  [[nodiscard]] std::byte* payload(std::uint32_t packet) const noexcept { return base_ + packet * stride_; }
  /// The message of an own packet: room for the header, directly in front of the payload.
  [[nodiscard]] std::byte* message(std::uint32_t packet) const noexcept {
    return payload(packet) - sizeof(session::Header);
  }
  [[nodiscard]] void* descriptor() const noexcept { return descriptor_of(registration_); }

  /// Called when the packet's transfer has ended. Any thread.
  void release(std::uint32_t packet) noexcept { returned_.put(nodes_[packet]); }
  /// Any thread.
  std::size_t reclaim(std::span<std::uint32_t> indices) noexcept;

 private:
  static constexpr std::size_t kFront = 64;  // keeps payloads on lines of their own

  struct Node {
    Node* next = nullptr;
  };

  const bool is_own_;
  const std::uint32_t count_;
  const std::size_t payload_;
  const std::size_t stride_;
  const std::unique_ptr<Node[]> nodes_;
  std::byte* base_;  // payload of the first packet
  Owned<fid_mr> registration_;
  concurrent::MpscList<Node> returned_;
};

}  // namespace weft::network::ofi
