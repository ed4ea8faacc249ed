// Active messages that are handed to a completion object in one call.
#pragma once

#include <weft/completion/completion.hpp>
#include <weft/detail/message_access.hpp>
#include <weft/detail/multi_slot_batch.hpp>
#include <weft/detail/slot_batch.hpp>
#include <weft/message.hpp>
#include <weft/types.hpp>

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace weft {

namespace detail {

/// The condition that must hold at each message of a batch: the handle is still open, and the backlog has
/// room for posts of handlers.
struct ArrivalGate {
  std::uint32_t handle;                      // open_handle() of the messages
  const std::atomic<std::uint32_t>* open;    // the handle's entry in the table of exposed objects
  const std::atomic<std::uint32_t>* posted;  // posts of handlers that are queued in the device's backlog
  std::uint32_t limit;                       // of `posted`
  std::uint32_t device;                      // at which the messages arrive

  [[nodiscard, gnu::always_inline]] bool admits(std::uint64_t handle_word) const noexcept {
    return static_cast<std::uint32_t>(handle_word >> 32) == handle &&
           open->load(std::memory_order_relaxed) == handle &&
           posted->load(std::memory_order_relaxed) <= limit;
  }
};

}  // namespace detail

/// Consecutive active messages of one peer to one completion object, of any size that travels in slots.
class Arrivals {
 public:
  Arrivals(detail::SlotBatch& batch, const detail::ArrivalGate& gate, detail::PayloadLender* lender) noexcept
      : slots_(&batch), gate_(gate), lender_(lender) {}
  Arrivals(detail::MultiSlotBatch& batch, const detail::ArrivalGate& gate,
           detail::PayloadLender* lender) noexcept
      : multi_slots_(&batch), gate_(gate), lender_(lender) {}
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  /// The rank that has sent the messages.
  [[nodiscard]] int peer() const noexcept {
    return slots_ != nullptr ? slots_->peer() : multi_slots_->peer();
  }

  /// Calls `take(Message&)` for each message, in order of arrival, as signal() would be called: the payload
  /// is a view that ends with the call. Ends early, with the remaining messages left for later, when `take`
  /// withdraws the object (which it may destroy as well) or has filled the backlog. `take` must not throw and
  /// must not block. Inlined, so that `take` costs no call.
  template <class Take>
  [[gnu::always_inline]] inline void for_each(Take&& take) noexcept {
    if (slots_ != nullptr) [[likely]]
      take_from(*slots_, gate_, lender_, take);
    else
      take_long<std::decay_t<Take>>(*multi_slots_, gate_, lender_, take);
  }

 private:
  // A function of its own: in one with the loop over single slots, that loop's message would lie in memory.
  template <class Take>
  [[gnu::noinline]] static void take_long(detail::MultiSlotBatch& from, const detail::ArrivalGate& gate,
                                          detail::PayloadLender* lender, Take take) noexcept {
    take_from(from, gate, lender, take);
  }

  template <class Batch, class Take>
  [[gnu::always_inline]] static inline void take_from(Batch& from, const detail::ArrivalGate& arrival_gate,
                                                      detail::PayloadLender* lender, Take& take) noexcept {
    Batch batch = from;  // in registers
    const detail::ArrivalGate gate = arrival_gate;
    std::uint64_t word = 0;
    Bytes payload;
    Message message;
    detail::MessageAccess::set_arrival(message, batch.peer(), gate.device, gate.handle);
    while (batch.look(word, payload) && gate.admits(word)) {
      const std::byte* data = payload.data();
      const std::size_t size = payload.size();
      do {
        detail::MessageAccess::set_arrived(message, static_cast<std::uint32_t>(word), data, size, lender);
        take(message);
        // `take` may have changed the message.
        if (!detail::MessageAccess::is_arrival(message, batch.peer(), gate.device)) [[unlikely]] {
          message = Message();
          detail::MessageAccess::set_arrival(message, batch.peer(), gate.device, gate.handle);
        }
        batch.advance();
      } while (batch.peek_alike(word, data) && gate.admits(word));
    }
    from.resume_behind(batch);
  }

  detail::SlotBatch* const slots_ = nullptr;  // null: the messages take several slots each
  detail::MultiSlotBatch* const multi_slots_ = nullptr;
  const detail::ArrivalGate gate_;
  detail::PayloadLender* const lender_;
};

}  // namespace weft
