#include "parcel/pending_calls.hpp"

#include <atomic>

namespace weft::parcel {

namespace {

constexpr int kGenerationShift = 8;
constexpr int kIndexShift = 40;

/// Spreads the threads over the shards, so that they do not meet.
std::size_t shard_of_thread(std::size_t shards) noexcept {
  static std::atomic<std::size_t> threads{0};
  static thread_local const std::size_t own = threads.fetch_add(1, std::memory_order_relaxed);
  return own % shards;
}

}  // namespace

std::uint64_t PendingCalls::add(int rank, const PendingCall& call) {
  const std::size_t number = shard_of_thread(kShards);
  Shard& shard = shards_[number];
  const std::lock_guard lock(shard.mutex);
  std::uint32_t index = shard.first_free;
  if (index == kNone) {
    index = static_cast<std::uint32_t>(shard.slots.size());
    shard.slots.emplace_back();
  } else {
    shard.first_free = shard.slots[index].next_free;
  }
  Slot& slot = shard.slots[index];
  slot.call = call;
  slot.rank = rank;
  if (++slot.generation == 0) slot.generation = 1;  // a name is never 0
  return std::uint64_t{index} << kIndexShift | std::uint64_t{slot.generation} << kGenerationShift | number;
}

void PendingCalls::free(Shard& shard, std::uint32_t index) noexcept {
  shard.slots[index].rank = -1;
  shard.slots[index].next_free = shard.first_free;
  shard.first_free = index;
}

PendingCall PendingCalls::take(std::uint64_t name, int rank) noexcept {
  const std::size_t number = name & ((1U << kGenerationShift) - 1);
  const auto index = static_cast<std::uint32_t>(name >> kIndexShift);
  if (number >= kShards) return {};
  Shard& shard = shards_[number];
  const std::lock_guard lock(shard.mutex);
  if (index >= shard.slots.size()) return {};
  Slot& slot = shard.slots[index];
  if (slot.rank != rank || slot.generation != static_cast<std::uint32_t>(name >> kGenerationShift)) return {};
  const PendingCall call = slot.call;
  free(shard, index);
  return call;
}

int PendingCalls::rank_of(const void* state) noexcept {
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    for (const Slot& slot : shard.slots)
      if (slot.rank >= 0 && slot.call.state == state) return slot.rank;
  }
  return -1;
}

std::vector<PendingCall> PendingCalls::take_all(int rank) {
  std::vector<PendingCall> calls;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    for (std::uint32_t index = 0; index < shard.slots.size(); ++index) {
      if (shard.slots[index].rank != rank) continue;
      calls.push_back(shard.slots[index].call);
      free(shard, index);
    }
  }
  return calls;
}

}  // namespace weft::parcel
