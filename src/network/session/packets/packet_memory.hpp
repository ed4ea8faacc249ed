// The memory of the packet pool, as a message network sends from it.
#pragma once

#include "concurrent/mpsc_list.hpp"
#include "network/network.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace weft::network::session {

class PacketMemory {
 public:
  /// Makes packets, or, with packets of another network (`foreign`, unless its base is null), sends these,
  /// which must outlive this object. `network` begins the texts of errors. Throws weft::Error.
  PacketMemory(std::string_view network, std::uint32_t count, std::size_t payload,
               const Network::PacketMemory& foreign = {});
  ~PacketMemory();
  PacketMemory(const PacketMemory&) = delete;
  PacketMemory& operator=(const PacketMemory&) = delete;

  [[nodiscard]] Network::PacketMemory layout() const noexcept { return {base_, stride_, count_, payload_}; }
  /// Returns true when the packets belong to another network, so that a header has no room in front of them.
  [[nodiscard]] bool is_foreign() const noexcept { return !is_own_; }
  [[nodiscard]] std::byte* payload(std::uint32_t packet) const noexcept { return base_ + packet * stride_; }
  /// All memory that belongs to packets.
  [[nodiscard]] std::span<std::byte> whole() const noexcept;

  /// Called when the packet's transfer has ended. Any thread.
  void release(std::uint32_t packet) noexcept { returned_.put(nodes_[packet]); }
  /// See Network::reclaim_packets(). Any thread.
  std::size_t reclaim(std::span<std::uint32_t> indices) noexcept;

 private:
  static constexpr std::size_t kFront = 64;  // room for headers; keeps payloads on lines of their own

  struct Node {
    Node* next = nullptr;
  };

  const bool is_own_;
  const std::uint32_t count_;
  const std::size_t payload_;
  const std::size_t stride_;
  const std::unique_ptr<Node[]> nodes_;
  std::byte* base_;  // payload of the first packet
  concurrent::MpscList<Node> returned_;
};

}  // namespace weft::network::session
