#include "core/packet/packet_pool.hpp"

#include "base/end_program.hpp"
#include "base/memory/bulk_copy.hpp"
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
  is_kept_ = std::make_unique<std::atomic<bool>[]>(memory_.count);
  bulk_.set_up(memory_.count, std::min(bulk_limit_, memory_.count - memory_.count / 4));
  for (Shard& shard : shards_) shard.indices = std::make_unique<std::uint32_t[]>(memory_.count);
  // Lowest index on top, so that few pages are touched while few packets are in use.
  for (std::uint32_t index = memory_.count; index-- > 0;) {
    Shard& shard = shards_[index % kShards];
    shard.indices[shard.count++] = index;
  }
  // All magazines exist from the start: taking a packet allocates nothing.
  magazines_ = std::make_unique<Magazine[]>(kMagazines);
}

[[gnu::noinline]] Packet PacketPool::get_slowly() noexcept {
  const std::uint32_t thread = concurrent::thread_number();
  std::uint32_t index = kNone;
  if (thread < kMagazines && magazines_[thread].take(index)) return packet(index);
  index = refill(thread);
  return index != kNone ? packet(index) : Packet();
}

Packet PacketPool::get_from_share(BulkPackets::Use use) noexcept {
  if (!bulk_.admit(use)) {
    // Peers may have returned packets that have not been reclaimed yet.
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

std::uint32_t PacketPool::refill(std::uint32_t thread) noexcept {
  // Packets that peers have returned come first: they were used last, and so no more memory is touched than
  // is in use at once.
  std::array<std::uint32_t, kMagazineSize> returned;
  if (const std::size_t count = reclaim(returned); count != 0)
    return share_out(returned.data(), static_cast<std::uint32_t>(count), thread);
  std::uint32_t index = take_from_shards(thread);
  if (index == kNone) index = take_from_magazines(thread);
  // Another thread may have moved surplus packets to the shards meanwhile.
  return index != kNone ? index : take_from_shards(thread);
}

std::uint32_t PacketPool::take_from_shards(std::uint32_t thread) noexcept {
  for (std::uint32_t step = 0; step < kShards; ++step) {
    Shard& shard = shards_[(thread + step) % kShards];
    if (!TryLock::acquire(shard.lock)) continue;
    const auto next = [&shard](std::uint32_t& index) {
      if (shard.count == 0) return false;
      index = shard.indices[--shard.count];
      return true;
    };
    std::uint32_t index = kNone;
    if (next(index) && thread < kMagazines) magazines_[thread].fill(magazine_limit_ / 2, next);
    TryLock::release(shard.lock);
    if (index != kNone) return index;
  }
  return kNone;
}

std::uint32_t PacketPool::take_from_magazines(std::uint32_t thread) noexcept {
  const std::uint32_t end = std::min(concurrent::thread_numbers_used(), kMagazines);
  std::array<std::uint32_t, kMagazineSize> indices;
  for (std::uint32_t step = 1; step <= end; ++step) {
    const std::uint32_t other = (thread + step) % end;
    if (other == thread || !magazines_[other].seems_filled()) continue;
    if (const std::uint32_t count = magazines_[other].take_all(indices.data()); count != 0)
      return share_out(indices.data(), count, thread);
  }
  return kNone;
}

/// Distributes packets without an owner: the caller gets the first, its magazine some, the shards the rest.
std::uint32_t PacketPool::share_out(const std::uint32_t* indices, std::uint32_t count,
                                    std::uint32_t thread) noexcept {
  std::uint32_t next = 1;
  if (thread < kMagazines)
    magazines_[thread].fill(magazine_limit_ / 2, [&](std::uint32_t& index) {
      if (next == count) return false;
      index = indices[next++];
      return true;
    });
  if (next < count) spill(indices + next, count - next, thread);
  return indices[0];
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

Packet PacketPool::packet_of(const void* address) noexcept {
  // Compared as numbers: pointers to other objects have no order.
  const std::uintptr_t offset =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(memory_.base);
  if (memory_.stride == 0 || offset % memory_.stride != 0 || offset / memory_.stride >= memory_.count)
    return {};
  const auto index = static_cast<std::uint32_t>(offset / memory_.stride);
  if (is_kept_[index].exchange(false, std::memory_order_relaxed))
    kept_.fetch_sub(1, std::memory_order_relaxed);
  return packet(index);
}

void PacketPool::put_packet(std::uint32_t index) noexcept {
  const std::uint32_t thread = concurrent::known_thread_number();
  if (thread < kMagazines && magazines_[thread].put(index, magazine_limit_)) [[likely]]
    return;
  put_slowly(index);
}

std::uint32_t PacketPool::count_unused() noexcept {
  std::array<std::uint32_t, kMagazineSize> indices;
  std::uint32_t unused = 0;
  // What peers return is not trusted: not more than there is.
  for (std::size_t more = 1; more != 0 && unused < memory_.count; unused += static_cast<std::uint32_t>(more))
    more = reclaim(indices);
  const std::uint32_t threads = std::min(concurrent::thread_numbers_used(), kMagazines);
  for (std::uint32_t thread = 0; thread < threads; ++thread)
    unused += magazines_[thread].take_all(indices.data());
  for (const Shard& shard : shards_) unused += shard.count;
  return unused;
}

namespace {

constinit std::atomic<std::uint64_t> missing_at_ends{0};

}  // namespace

std::uint32_t PacketPool::end(std::string owner) {
  if (memory_.count == 0) return 0;
  const std::uint32_t unused = count_unused();
  if (unused >= memory_.count) return 0;
  // Peers may keep packets, which do not come back any more, as well as the program.
  owner_ = std::move(owner);
  const std::uint32_t away = network_->packets_away();
  const std::uint32_t out = memory_.count - unused;
  const std::uint32_t missing = out > away ? out - away : 0;
  missing_at_ends.fetch_add(missing, std::memory_order_relaxed);
  return missing;
}

std::uint64_t PacketPool::missing_so_far() noexcept {
  return missing_at_ends.load(std::memory_order_relaxed);
}

void PacketPool::End::operator()(PacketPool* pool) const noexcept {
  if (pool->owner_.empty()) return delete pool;
  // Kept where tools that look for leaks find it, but without what is large: the magazines, which take
  // nothing any more, are shared by all pools that have ended.
  static std::atomic<PacketPool*> awaited{nullptr};
  static Magazine* const none = new Magazine[kMagazines];
  pool->magazines_.reset(none);
  pool->magazine_limit_ = 0;
  pool->is_awaited_ = true;
  pool->next_ = awaited.load(std::memory_order_relaxed);
  while (!awaited.compare_exchange_weak(pool->next_, pool, std::memory_order_relaxed)) {
  }
}

[[gnu::noinline]] void PacketPool::put_slowly(std::uint32_t index) noexcept {
  if (is_awaited_)
    base::end_program("a Packet is destroyed after " + owner_ + ": destroy packets before their runtime");
  const std::uint32_t thread = concurrent::thread_number();
  if (thread >= kMagazines) return spill(&index, 1, thread);
  Magazine& magazine = magazines_[thread];
  if (magazine.put(index, magazine_limit_)) return;
  std::array<std::uint32_t, kMagazineSize> indices;
  if (const std::uint32_t count = magazine.drain(magazine_limit_ / 2, indices.data()); count != 0)
    spill(indices.data(), count, thread);
  // Not when another thread is emptying the magazine.
  if (!magazine.put(index, magazine_limit_)) spill(&index, 1, thread);
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
  is_kept_[cookie].store(true, std::memory_order_relaxed);
  return this;
}

void PacketPool::release(std::byte*, std::size_t, std::uint64_t cookie) noexcept {
  is_kept_[cookie].store(false, std::memory_order_relaxed);
  put_packet(static_cast<std::uint32_t>(cookie));
  kept_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace weft::core
