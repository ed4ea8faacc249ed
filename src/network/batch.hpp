// Messages of one channel and one peer that a network delivers together.
#pragma once

#include <weft/detail/multi_slot_batch.hpp>
#include <weft/detail/slot_batch.hpp>
#include <weft/message.hpp>

#include <cstdint>

namespace weft::network {

/// A batch, whatever it lies in. Its taker asks once where that is.
class Batch {
 public:
  /// `lender` can keep the payloads.
  Batch(detail::SlotBatch& slots, detail::PayloadLender* lender) noexcept : slots_(&slots), lender_(lender) {}
  Batch(detail::MultiSlotBatch& slots, detail::PayloadLender* lender) noexcept
      : multi_slots_(&slots), lender_(lender) {}

  /// The messages when each lies in one slot, else nullptr.
  [[nodiscard]] detail::SlotBatch* slots() const noexcept { return slots_; }
  /// The messages when each lies in several slots, else nullptr.
  [[nodiscard]] detail::MultiSlotBatch* multi_slots() const noexcept { return multi_slots_; }
  [[nodiscard]] detail::PayloadLender* lender() const noexcept { return lender_; }

 private:
  detail::SlotBatch* const slots_ = nullptr;
  detail::MultiSlotBatch* const multi_slots_ = nullptr;
  detail::PayloadLender* const lender_;
};

}  // namespace weft::network
