#include "stream/queue_turn.hpp"

namespace weft::stream {

using Threads = weft::detail::ProcessThreads;

QueueTurn::Begun QueueTurn::begin(weft::detail::StreamGate& gate, std::uintptr_t owner) {
  const std::lock_guard lock(mutex_);
  if (!is_owned()) {
    if (gate.is_taken_by(Threads::mark())) return Begun::in_handler;
    // Another thread attends to the stream, for a call of progress().
    while (!gate.try_take_for(owner)) Threads::yield();
    Threads::barrier();
    if (!gate.is_left()) {
      gate.give_back();
      return Begun::inside;
    }
    is_owned_.store(true, std::memory_order_relaxed);
  }
  busy_.fetch_add(1, std::memory_order_relaxed);
  return Begun::yes;
}

void QueueTurn::take(weft::detail::StreamGate& gate, std::uintptr_t owner) {
  const std::lock_guard lock(mutex_);
  if (!is_owned()) {
    while (!gate.try_take_for(owner)) Threads::yield();
    Threads::barrier();
    while (!gate.is_left()) Threads::yield();
    is_owned_.store(true, std::memory_order_relaxed);
  }
  busy_.fetch_add(1, std::memory_order_relaxed);
}

QueueTurn::Released QueueTurn::release(weft::detail::StreamGate& gate) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return Released::soon;
  if (!is_owned()) return Released::yes;
  if (busy() != 0) return Released::busy;
  if (!is_settled()) return Released::soon;
  gate.give_back();
  is_owned_.store(false, std::memory_order_relaxed);
  return Released::yes;
}

void QueueTurn::leave(weft::detail::StreamGate& gate) noexcept {
  const std::lock_guard lock(mutex_);
  if (is_owned()) gate.give_back();
  is_owned_.store(false, std::memory_order_relaxed);
  is_settled_.store(true, std::memory_order_relaxed);
  busy_.store(0, std::memory_order_relaxed);
}

}  // namespace weft::stream
