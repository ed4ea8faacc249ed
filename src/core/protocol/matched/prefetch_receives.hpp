// Prefetches the receives that the next messages of a batch will probably match.
#pragma once

#include "core/matching/matching_engine.hpp"

#include <cstdint>

namespace weft::core {

/// Does so when there are so many receives that they may not be in a near cache. Returns the number of
/// messages for which that was done, or need not be done. Batch: SlotBatch or MultiSlotBatch.
template <class Batch>
std::uint32_t prefetch_receives(MatchingEngine& engine, const Batch& batch) noexcept;

}  // namespace weft::core
