#include "network/ibv/memory/arrival_buffers.hpp"

#include "network/ibv/memory/work_id.hpp"

#include <weft/error.hpp>

#include <sys/mman.h>
#include <array>
#include <string>

namespace weft::network::ibv {

namespace {

constexpr std::size_t kBatch = 32;  // receives that are posted by one call

}  // namespace

void IbvReceiveBuffers::Unmap::operator()(std::byte* memory) const noexcept { ::munmap(memory, bytes); }

void IbvReceiveBuffers::grow(std::uint32_t count, std::uint32_t) {
  slabs_.reserve(slabs_.size() + 1);
  const std::size_t stride = (size_ + 63) / 64 * 64;
  auto buffers = std::make_unique<ReceiveBuffer[]>(count);
  void* const memory =
      ::mmap(nullptr, stride * count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(ErrorClass::network, "ibv: " + std::to_string(count) + " receive buffers of " +
                                         std::to_string(size_) + " bytes cannot be allocated");
  Slab slab{{static_cast<std::byte*>(memory), Unmap{stride * count}}, std::move(buffers), nullptr};
  slab.registration = device_.register_memory({slab.memory.get(), stride * count}, kLocalAccess);
  for (std::uint32_t next = 0; next < count; ++next) {
    slab.buffers[next].bytes = slab.memory.get() + next * stride;
    slab.buffers[next].key = slab.registration->lkey;
    free_.put(slab.buffers[next]);
  }
  slabs_.push_back(std::move(slab));
}

ReceiveBuffer* IbvReceiveBuffers::take_unposted() noexcept {
  if (unposted_ == nullptr) unposted_ = free_.take_all();
  if (unposted_ == nullptr) return nullptr;
  auto* const taken = static_cast<ReceiveBuffer*>(unposted_);
  unposted_ = unposted_->next;
  return taken;
}

void IbvReceiveBuffers::post_to(ibv_srq& queue) noexcept {
  std::array<ibv_recv_wr, kBatch> requests;
  std::array<ibv_sge, kBatch> pieces;
  std::size_t count = kBatch;
  while (count == kBatch) {
    count = 0;
    for (ReceiveBuffer* buffer; count != kBatch && (buffer = take_unposted()) != nullptr; ++count) {
      pieces[count] = {reinterpret_cast<std::uint64_t>(buffer->bytes), static_cast<std::uint32_t>(size_),
                       buffer->key};
      requests[count] = {id_of(*buffer), &requests[count] + 1, &pieces[count], 1};
    }
    if (count == 0) return;
    requests[count - 1].next = nullptr;
    ibv_recv_wr* refused = nullptr;
    if (::ibv_post_srq_recv(&queue, requests.data(), &refused) == 0) continue;
    // The queue is full: what it has not taken is tried again, in its order.
    for (std::size_t left = count; left-- > static_cast<std::size_t>(refused - requests.data());) {
      ReceiveBuffer& buffer = received_by(requests[left].wr_id);
      buffer.next = unposted_;
      unposted_ = &buffer;
    }
    return;
  }
}

}  // namespace weft::network::ibv
