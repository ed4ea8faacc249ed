#include "network/session/packets/packet_memory.hpp"

#include <weft/error.hpp>

#include <sys/mman.h>
#include <algorithm>
#include <string>

namespace weft::network::session {

PacketMemory::PacketMemory(std::string_view network, std::uint32_t count, std::size_t payload,
                           const Network::PacketMemory& foreign)
    : is_own_(foreign.base == nullptr),
      count_(is_own_ ? count : foreign.count),
      payload_(is_own_ ? payload : std::min(payload, foreign.payload)),
      stride_(is_own_ ? kFront + (payload + 63) / 64 * 64 : foreign.stride),
      nodes_(std::make_unique<Node[]>(count_)),
      base_(foreign.base) {
  if (!is_own_) return;
  void* memory =
      ::mmap(nullptr, stride_ * count_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(ErrorClass::network, std::string(network) + ": " + std::to_string(count) + " packets of " +
                                         std::to_string(payload) + " bytes cannot be allocated");
  base_ = static_cast<std::byte*>(memory) + kFront;
}

PacketMemory::~PacketMemory() {
  if (is_own_) ::munmap(base_ - kFront, stride_ * count_);
}

std::span<std::byte> PacketMemory::whole() const noexcept {
  return is_own_ ? std::span{base_ - kFront, stride_ * count_}
                 : std::span{base_, stride_ * (count_ - 1) + payload_};
}

std::size_t PacketMemory::reclaim(std::span<std::uint32_t> indices) noexcept {
  std::size_t count = 0;
  for (Node* node = returned_.take_all(); node != nullptr;) {
    Node* next = node->next;
    if (count < indices.size())
      indices[count++] = static_cast<std::uint32_t>(node - nodes_.get());
    else
      returned_.put(*node);  // taken by the next call
    node = next;
  }
  return count;
}

}  // namespace weft::network::session
