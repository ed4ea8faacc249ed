#include "core/protocol/matched/prefetch_receives.hpp"

#include <weft/detail/multi_slot_batch.hpp>
#include <weft/detail/slot_batch.hpp>

#include <array>

namespace weft::core {

namespace {

constexpr std::uint32_t kManyRecords = 512;  // fewer stay in the first-level cache
constexpr std::uint32_t kPrefetched = 8;     // messages whose receives are fetched at a time

}  // namespace

template <class Batch>
[[gnu::noinline]] std::uint32_t prefetch_receives(MatchingEngine& engine, const Batch& batch) noexcept {
  if (engine.storage().records().made() < kManyRecords) return 16 * kPrefetched;
  MatchKey key{0, static_cast<std::uint32_t>(batch.peer()), 0};
  std::array<MatchKey, kPrefetched> keys;
  std::array<const MatchRecord*, kPrefetched> records;
  // Checks the last message first: with fewer messages the sender is close behind, and its cache lines are
  // left alone.
  if (!batch.peek_ahead(kPrefetched - 1, key.tag)) return kPrefetched;
  for (std::uint32_t index = 0; index < kPrefetched; ++index) {
    if (!batch.peek_ahead(index, key.tag)) return kPrefetched;
    keys[index] = key;
    engine.table().prefetch(key);
  }
  // Each step needs the cache line that the one before has fetched; the misses of several messages overlap.
  for (std::uint32_t index = 0; index < kPrefetched; ++index) {
    records[index] = engine.table().peek(keys[index]);
    if (records[index] == nullptr) continue;
    __builtin_prefetch(records[index], 1);
    __builtin_prefetch(reinterpret_cast<const std::byte*>(records[index]) + 64, 1);
  }
  // What a record says may be read only where no other thread can be taking it.
  if (engine.is_serial() || engine.order() != nullptr)
    for (const MatchRecord* record : records)
      if (record != nullptr) __builtin_prefetch(record->buffer.data(), 1);
  return kPrefetched;
}
template std::uint32_t prefetch_receives(MatchingEngine&, const detail::SlotBatch&) noexcept;
template std::uint32_t prefetch_receives(MatchingEngine&, const detail::MultiSlotBatch&) noexcept;

}  // namespace weft::core
