#include "core/packet/packet_pool.hpp"

#include "base/bulk_copy.hpp"
#include "concurrent/thread_number.hpp"

#include <weft/detail/lock.hpp>

#include <algorithm>
#include <cstring>
#include <new>

namespace weft::core {

using detail::TryLock;

void PacketPool::attach(network::Network& network) {
  network_ = &network;
  memory_ = network.packet_memory();
  bulk_.set_up(memory_.count, std::min(bulk_limit_, memory_.count - memory_.count / 4));
  for (Shard& shard : shards_) shard.indices = std::make_unique<std::uint32_t[]>(memory_.count);
  // Lowest index on top, so that few pages are touched while few packets are in use.
  for (std::uint32_t index = memory_.count; index-- > 0;) {
    Shard& shard = shards_[index % kShards];
    shard.indices[shard.count++] = index;
  }
  // All magazines exist from the start: taking a packet allocates nothing.
  for (std::uint32_t thread = 0; thread < kMagazines; ++thread) {
    owned_[thread] = std::make_unique<Magazine>();
    magazines_[thread].store(owned_[thread].get(), std::memory_order_relaxed);
  }
}

[[gnu::noinline]] Packet PacketPool::get_slowly() noexcept {
  const std::uint32_t thread = concurrent::thread_number();
  Magazine* magazine = thread < kMagazines ? magazines_[thread].load(std::memory_order_relaxed) : nullptr;
  if (magazine != nullptr && magazine->count > 0) return packet(magazine->indices[--magazine->count]);
  const std::uint32_t index = refill(magazine, thread);
  return index != kNone ? packet(index) : Packet();
}

Packet PacketPool::get_from_share(BulkPackets::Use use) noexcept {
  if (!bulk_.admit(use)) {
    // Peers may have given some back that nobody has looked for yet.
    std::array<std::uint32_t, kMagazineSize> returned;
    const std::size_t count = reclaim(returned);
    if (count != 0) spill(returned.data(), static_cast<std::uint32_t>(count), concurrent::thread_number());
    if (!bulk_.admit(use)) return {};
  }
  Packet packet = get();
  if (!packet) {
    bulk_.dismiss();
    return packet;
  }
  const std::uint32_t index = packet.release();
  bulk_.mark(index);
  return {data(index), payload(), index, &bulk_};
}

std::size_t PacketPool::reclaim(std::span<std::uint32_t> indices) noexcept {
  const std::size_t count = network_->reclaim_packets(indices);
  if (count != 0 && bulk_.any())
    for (const std::uint32_t index : indices.first(count)) bulk_.came_back(index);
  return count;
}

std::uint32_t PacketPool::take_from(Shard& shard, Magazine* magazine) noexcept {
  if (!TryLock::acquire(shard.lock)) return kNone;
  std::uint32_t index = kNone;
  if (shard.count > 0) index = shard.indices[--shard.count];
  if (magazine != nullptr)
    while (shard.count > 0 && magazine->count < magazine_limit_ / 2)
      magazine->indices[magazine->count++] = shard.indices[--shard.count];
  TryLock::release(shard.lock);
  return index;
}

std::uint32_t PacketPool::refill(Magazine* magazine, std::uint32_t thread) noexcept {
  // What peers have given back first: it was used last, and no more memory is touched than is in use at once.
  std::array<std::uint32_t, kMagazineSize> returned;
  const std::size_t count = reclaim(returned);
  if (count == 0) {
    for (std::uint32_t step = 0; step < kShards; ++step)
      if (const std::uint32_t index = take_from(shards_[(thread + step) % kShards], magazine); index != kNone)
        return index;
    return kNone;
  }
  std::size_t next = 1;
  if (magazine != nullptr)
    while (next < count && magazine->count < magazine_limit_ / 2)
      magazine->indices[magazine->count++] = returned[next++];
  if (next < count) spill(returned.data() + next, static_cast<std::uint32_t>(count - next), thread);
  return returned[0];
}

void PacketPool::spill(const std::uint32_t* indices, std::uint32_t count, std::uint32_t thread) noexcept {
  for (std::uint32_t step = 0;; ++step) {
    Shard& shard = shards_[(thread + step) % kShards];
    if (!TryLock::acquire(shard.lock)) continue;  // held for a few copies only, and there are others
    std::memcpy(&shard.indices[shard.count], indices, count * sizeof *indices);
    shard.count += count;
    TryLock::release(shard.lock);
    return;
  }
}

void PacketPool::put_packet(std::uint32_t index) noexcept {
  const std::uint32_t thread = concurrent::known_thread_number();
  if (thread < kMagazines) [[likely]] {
    Magazine& magazine = *magazines_[thread].load(std::memory_order_relaxed);
    if (magazine.count != magazine_limit_) [[likely]] {
      magazine.indices[magazine.count++] = index;
      return;
    }
  }
  put_slowly(index);
}

[[gnu::noinline]] void PacketPool::put_slowly(std::uint32_t index) noexcept {
  const std::uint32_t thread = concurrent::thread_number();
  if (thread >= kMagazines) return spill(&index, 1, thread);
  Magazine& magazine = *magazines_[thread].load(std::memory_order_relaxed);
  if (magazine.count == magazine_limit_) {
    const std::uint32_t half = magazine_limit_ / 2 + magazine_limit_ % 2;
    magazine.count -= half;
    spill(&magazine.indices[magazine.count], half, thread);
  }
  magazine.indices[magazine.count++] = index;
}

PayloadOwner* PacketPool::keep(const std::byte*& data, std::size_t size, std::uint64_t& cookie) noexcept {
  if (size > memory_.payload) return nullptr;
  if (kept_.fetch_add(1, std::memory_order_relaxed) >= memory_.count / 4) {
    kept_.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  Packet packet = get();
  if (!packet) {
    kept_.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  base::copy_bulk(packet.data(), data, size);
  data = packet.data();
  cookie = packet.release();
  return this;
}

void PacketPool::release(std::byte*, std::size_t, std::uint64_t cookie) noexcept {
  put_packet(static_cast<std::uint32_t>(cookie));
  kept_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace weft::core
