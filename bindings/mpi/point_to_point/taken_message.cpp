#include "bindings/mpi/point_to_point/taken_message.hpp"

#include <atomic>
#include <memory>

namespace weft::mpi {

namespace {

struct Slot {
  alignas(TakenMessage) std::byte memory[sizeof(TakenMessage)];
  std::atomic<bool> is_used{false};
};
static_assert(offsetof(Slot, memory) == 0);

/// Lives as long as the process: handles of messages that have gone are still read.
struct Slots {
  Slot slots[64];
  Slots* next = nullptr;
};
std::atomic<Slots*> all_slots{nullptr};

}  // namespace

void* TakenMessage::operator new(std::size_t) {
  for (Slots* group = all_slots.load(std::memory_order_acquire); group != nullptr; group = group->next)
    for (Slot& slot : group->slots)
      // Pairs with the release of the thread that has given the slot back.
      if (!slot.is_used.load(std::memory_order_relaxed) &&
          !slot.is_used.exchange(true, std::memory_order_acquire))
        return slot.memory;
  auto made = std::make_unique<Slots>();
  made->slots[0].is_used.store(true, std::memory_order_relaxed);
  made->next = all_slots.load(std::memory_order_relaxed);
  while (!all_slots.compare_exchange_weak(made->next, made.get(), std::memory_order_release)) {
  }
  return made.release()->slots[0].memory;
}

void TakenMessage::operator delete(void* slot) noexcept {
  static_cast<Slot*>(slot)->is_used.store(false, std::memory_order_release);
}

void visit_taken_messages(const std::function<void(TakenMessage&)>& visit) {
  for (Slots* group = all_slots.load(std::memory_order_acquire); group != nullptr; group = group->next)
    for (Slot& slot : group->slots)
      if (slot.is_used.load(std::memory_order_acquire)) visit(*reinterpret_cast<TakenMessage*>(slot.memory));
}

}  // namespace weft::mpi
