// Forced schedules of the reply slot: detail::claim_slot() and commit_slot() on one side, Receiver::receive()
// and receive_reply_slot() on the other.
#include "support/schedules.hpp"

#include <weft/detail/lane.hpp>

#include <gtest/gtest.h>

namespace weft {
namespace {

namespace model = test::model;
using detail::kPassed;
using detail::slot_header;
using detail::SlotKind;
using model::Cell;
using model::expect_sound;
using model::Schedule;

constexpr std::uint64_t kSlots = 16;
constexpr std::uint64_t kMessages = 12;

struct Slot {
  model::Atomic<std::uint64_t> header{0};
  Cell<std::uint64_t> payload;
};

struct Memory {
  Slot reply_slot;
  Slot ring[kSlots];
};

std::uint32_t first_word(std::uint64_t header) { return static_cast<std::uint32_t>(header >> 32); }

/// Sends by the reply slot when it is here, else by the ring.
void send_all(Schedule& schedule, Memory& memory) {
  std::uint32_t turn = 1;
  std::uint32_t passed = 0;
  std::uint64_t tail = 0;
  bool is_here = true;
  for (std::uint64_t number = 0; number < kMessages && schedule.violation().empty(); ++number) {
    if (!is_here && first_word(memory.reply_slot.header.load(std::memory_order_acquire)) == turn + 1) {
      if (memory.reply_slot.payload != 5000 + turn + 1) schedule.report("wrong answer");
      turn += 2;
      is_here = true;
    }
    Slot& slot = is_here ? memory.reply_slot : memory.ring[tail];
    slot.payload = 1000 + number;
    if (is_here) {
      is_here = false;
      passed = (passed + 1) % kPassed;
      slot.header.store(slot_header(turn, 8, 1, SlotKind::message), std::memory_order_release);
    } else {
      ++tail;
      slot.header.store(slot_header(passed, 8, 1, SlotKind::message), std::memory_order_release);
    }
  }
}

/// Takes all in the order in which they were sent, and answers what has come by the reply slot.
class Receiver {
 public:
  Receiver(Schedule& schedule, Memory& memory) : schedule_(schedule), memory_(memory) {}

  [[nodiscard]] std::uint64_t seen() const { return seen_; }
  void poll() {
    if (owes_answer_) {
      owes_answer_ = false;
      memory_.reply_slot.payload = 5000 + turn_ - 1;
      memory_.reply_slot.header.store(slot_header(turn_ - 1, 8, 1, SlotKind::message),
                                      std::memory_order_release);
    }
    // First the reply slot: what is found in the ring after that may have been sent before.
    bool is_due = is_reply_slot_due();
    while (schedule_.violation().empty()) {
      Slot& slot = memory_.ring[head_];
      const std::uint64_t header = slot.header.load(std::memory_order_acquire);
      if (header == 0) {
        if (is_due) take_reply_slot();
        return;
      }
      if (first_word(header) == passed_) {
        take(slot);
        ++head_;
      } else if (first_word(header) == (passed_ + 1) % kPassed && is_reply_slot_due()) {
        take_reply_slot();
        is_due = false;
      } else {
        schedule_.report("a slot behind a message that is not there");
      }
    }
  }

 private:
  [[nodiscard]] bool is_reply_slot_due() {
    return first_word(memory_.reply_slot.header.load(std::memory_order_acquire)) == turn_;
  }
  void take(Slot& slot) {
    if (slot.payload != 1000 + seen_) schedule_.report("out of order");
    ++seen_;
  }
  void take_reply_slot() {
    take(memory_.reply_slot);
    passed_ = (passed_ + 1) % kPassed;
    turn_ += 2;
    owes_answer_ = true;
  }

  Schedule& schedule_;
  Memory& memory_;
  std::uint32_t turn_ = 1;
  std::uint32_t passed_ = 0;
  std::uint64_t head_ = 0;
  std::uint64_t seen_ = 0;
  bool owes_answer_ = false;
};

TEST(ReplySlotSchedules, keep_order_and_lose_nothing) {
  WEFT_NEEDS_FIBERS();
  expect_sound([](Schedule& schedule) {
    Memory memory;
    Receiver receiver(schedule, memory);
    schedule.run({[&] { send_all(schedule, memory); },
                  [&] {
                    while (receiver.seen() < kMessages && schedule.violation().empty()) receiver.poll();
                  }});
    if (receiver.seen() != kMessages) schedule.report("a message is lost");
  });
}

}  // namespace
}  // namespace weft
