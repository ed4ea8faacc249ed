// The memory of the packet pool, registered for sending.
#pragma once

#include "concurrent/intake.hpp"
#include "network/network.hpp"
#include "network/ofi/fabric.hpp"
#include "network/ofi/wire.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace weft::network::ofi {

class PacketMemory {
 public:
  /// Throws weft::Error.
  PacketMemory(Fabric& fabric, std::uint32_t count, std::size_t payload);
  ~PacketMemory();
  PacketMemory(const PacketMemory&) = delete;
  PacketMemory& operator=(const PacketMemory&) = delete;

  [[nodiscard]] Network::PacketMemory layout() const noexcept;
  /// The message that a packet becomes: room for its header, directly in front of the payload.
  [[nodiscard]] std::byte* message(std::uint32_t packet) const noexcept {
    return memory_ + packet * stride_ + kFront - sizeof(Header);
  }
  [[nodiscard]] void* descriptor() const noexcept { return descriptor_of(registration_); }

  /// The packet's transfer has ended. Any thread.
  void give_back(std::uint32_t packet) noexcept { returned_.put(nodes_[packet]); }
  /// Any thread.
  std::size_t reclaim(std::span<std::uint32_t> indices) noexcept;

 private:
  static constexpr std::size_t kFront = 64;  // keeps payloads on lines of their own

  struct Node {
    Node* next = nullptr;
  };

  const std::uint32_t count_;
  const std::size_t payload_;
  const std::size_t stride_;
  const std::unique_ptr<Node[]> nodes_;
  std::byte* memory_ = nullptr;
  Owned<fid_mr> registration_;
  concurrent::Intake<Node> returned_;
};

}  // namespace weft::network::ofi
