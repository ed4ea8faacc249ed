// Messages of one channel and one peer that a network delivers together.
#pragma once

#include <weft/detail/message_access.hpp>
#include <weft/detail/multi_slot_batch.hpp>
#include <weft/detail/slot_batch.hpp>
#include <weft/message.hpp>

#include <cstdint>

namespace weft::network {

/// The slot in which an active message has come, and which its network needs again before the message's
/// handler runs. The payload has been copied out of it.
class ReusedSlot {
 public:
  /// Frees the slot: the network cannot show the message again.
  virtual void free() noexcept = 0;

 protected:
  ~ReusedSlot() = default;
};

/// Calls `take(channel, word, message)` for each message of a SlotBatch or MultiSlotBatch, in order, until it
/// returns false: that message and those behind it stay. `lender` can keep the payloads.
template <class Messages, class Take>
void take_each(Messages& messages, detail::PayloadLender* lender, Take&& take) noexcept {
  std::uint64_t word = 0;
  Bytes payload;
  Message message;
  detail::MessageAccess::set_view(message, Operation::active_message, messages.peer(), 0, nullptr, 0, lender,
                                  0);
  for (; messages.look(word, payload); messages.advance()) {
    detail::MessageAccess::set_payload(message, static_cast<std::uint32_t>(word), payload.data(),
                                       payload.size(), lender);
    if (!take(messages.channel(), word, message)) return;
  }
}

/// A batch, whatever it lies in: its taker asks once, by storage(). Messages are taken in order. What is not
/// taken stays in the network, and so does what lies behind it.
class Batch {
 public:
  enum class Storage : std::uint8_t {
    slots,        // of a ring, one for each message; those that have been advanced over are taken
    multi_slots,  // the same, several for each message
    message,      // a single message, which is taken unless leave() is called
    reused_slot,  // the same; an active message whose network needs its slot again: see free_slot()
  };

  /// `lender` can keep the payloads.
  Batch(detail::SlotBatch& slots, detail::PayloadLender* lender) noexcept
      : storage_(Storage::slots), slots_(&slots), lender_(lender) {}
  Batch(detail::MultiSlotBatch& slots, detail::PayloadLender* lender) noexcept
      : storage_(Storage::multi_slots), multi_slots_(&slots), lender_(lender) {}
  /// `message` views the payload; a taker that keeps it beyond the call uses Message::take(). The message's
  /// tag is the low half of `word`.
  Batch(std::uint8_t channel, std::uint64_t word, Message& message) noexcept
      : storage_(Storage::message), channel_(channel), message_(&message), word_(word) {}
  /// `message` views a copy of the payload, which was in `slot`.
  Batch(std::uint64_t word, Message& message, ReusedSlot& slot) noexcept
      : storage_(Storage::reused_slot),
        channel_(detail::kActiveMessageChannel),
        message_(&message),
        word_(word),
        slot_(&slot) {}

  [[nodiscard]] Storage storage() const noexcept { return storage_; }

  // Storage::slots and multi_slots

  [[nodiscard]] detail::SlotBatch& slots() const noexcept { return *slots_; }
  [[nodiscard]] detail::MultiSlotBatch& multi_slots() const noexcept { return *multi_slots_; }
  [[nodiscard]] detail::PayloadLender* lender() const noexcept { return lender_; }

  // Storage::message and reused_slot

  [[nodiscard]] std::uint8_t channel() const noexcept { return channel_; }
  [[nodiscard]] std::uint64_t word() const noexcept { return word_; }
  [[nodiscard]] Message& message() const noexcept { return *message_; }
  /// The message cannot be taken now.
  void leave() noexcept { is_taken_ = false; }
  [[nodiscard]] bool is_taken() const noexcept { return is_taken_; }

  // Storage::reused_slot

  /// Frees the slot in which the message has come, for what its handler may post; the message must then be
  /// taken. At most once. Without this call the slot is free after the delivery.
  void free_slot() noexcept {
    slot_->free();
    slot_ = nullptr;
  }
  [[nodiscard]] bool is_slot_free() const noexcept { return slot_ == nullptr; }

  /// For takers to which the storage does not matter: calls `take(channel, word, message)` for each message
  /// until it returns false.
  template <class Take>
  void for_each(Take&& take) noexcept {
    switch (storage_) {
      case Storage::slots:
        return take_each(*slots_, lender_, take);
      case Storage::multi_slots:
        return take_each(*multi_slots_, lender_, take);
      case Storage::message:
      case Storage::reused_slot:
        if (!take(channel_, word_, *message_)) leave();
        return;
    }
  }

 private:
  // Only what the storage needs is set: a batch is made for every delivery.
  const Storage storage_;
  bool is_taken_ = true;
  std::uint8_t channel_;
  union {
    detail::SlotBatch* slots_;
    detail::MultiSlotBatch* multi_slots_;
    Message* message_;
  };
  union {
    detail::PayloadLender* lender_;
    std::uint64_t word_;
  };
  ReusedSlot* slot_;
};

}  // namespace weft::network
