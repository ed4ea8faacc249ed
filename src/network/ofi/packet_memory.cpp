#include "network/ofi/packet_memory.hpp"

#include <weft/error.hpp>

#include <sys/mman.h>
#include <string>

namespace weft::network::ofi {

PacketMemory::PacketMemory(Fabric& fabric, std::uint32_t count, std::size_t payload)
    : count_(count),
      payload_(payload),
      stride_(kFront + (payload + 63) / 64 * 64),
      nodes_(std::make_unique<Node[]>(count)) {
  const std::size_t bytes = stride_ * count_;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error("ofi: " + std::to_string(count) + " packets of " + std::to_string(payload) +
                " bytes cannot be allocated");
  memory_ = static_cast<std::byte*>(memory);
  try {
    registration_ = fabric.register_local({memory_, bytes});
  } catch (...) {
    ::munmap(memory_, bytes);
    throw;
  }
}

PacketMemory::~PacketMemory() {
  registration_.reset();
  ::munmap(memory_, stride_ * count_);
}

Network::PacketMemory PacketMemory::layout() const noexcept {
  return {memory_ + kFront, stride_, count_, payload_};
}

std::size_t PacketMemory::reclaim(std::span<std::uint32_t> indices) noexcept {
  std::size_t count = 0;
  for (Node* node = returned_.take_all(); node != nullptr;) {
    Node* next = node->next;
    if (count < indices.size())
      indices[count++] = static_cast<std::uint32_t>(node - nodes_.get());
    else
      returned_.put(*node);  // comes with the next call
    node = next;
  }
  return count;
}

}  // namespace weft::network::ofi
