#include "network/ofi/receive_buffers.hpp"

#include <weft/error.hpp>

#include <sys/mman.h>
#include <algorithm>
#include <string>

namespace weft::network::ofi {

void OfiReceiveBuffers::Unmap::operator()(std::byte* memory) const noexcept { ::munmap(memory, bytes); }

void OfiReceiveBuffers::grow(std::uint32_t count, std::uint32_t held) {
  const std::uint32_t first = std::min(count, kAtATime);
  make(first);
  allow(count - first);
  quota_.fetch_add(held, std::memory_order_relaxed);
}

bool OfiReceiveBuffers::grow_further() {
  if (allowed_ == 0) return false;
  const std::uint32_t count = std::min(allowed_, kAtATime);
  make(count);
  allowed_ -= count;
  return true;
}

void OfiReceiveBuffers::make(std::uint32_t count) {
  slabs_.reserve(slabs_.size() + 1);
  auto buffers = std::make_unique<ReceiveBuffer[]>(count);
  const std::size_t bytes = stride_ * count;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(ErrorClass::network, "ofi: " + std::to_string(count) + " receive buffers of " +
                                         std::to_string(size_) + " bytes cannot be allocated");
  Slab slab{{static_cast<std::byte*>(memory), Unmap{bytes}}, std::move(buffers), nullptr};
  slab.registration = fabric_.register_local({slab.memory.get(), bytes});
  for (std::uint32_t index = 0; index < count; ++index) {
    ReceiveBuffer& buffer = slab.buffers[index];
    buffer.bytes = slab.memory.get() + index * stride_;
    buffer.descriptor = descriptor_of(slab.registration);
    free_.put(buffer);
  }
  slabs_.push_back(std::move(slab));
}

PayloadOwner* OfiReceiveBuffers::keep(const std::byte*& data, std::size_t size,
                                      std::uint64_t& cookie) noexcept {
  if (held_.fetch_add(1, std::memory_order_relaxed) < quota_.load(std::memory_order_relaxed)) return this;
  held_.fetch_sub(1, std::memory_order_relaxed);
  return copier_.keep(data, size, cookie);
}

void OfiReceiveBuffers::release(std::byte*, std::size_t, std::uint64_t cookie) noexcept {
  held_.fetch_sub(1, std::memory_order_relaxed);
  release(*reinterpret_cast<session::ReceivedMessage*>(cookie));
}

}  // namespace weft::network::ofi
