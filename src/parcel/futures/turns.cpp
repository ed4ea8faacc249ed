// Continuations of states without a scheduler.
#include <weft/parcel/detail/future_state.hpp>

namespace weft::parcel::detail {

namespace {

// Continuations that make each other ready nest so deep; what comes then waits until the stack is free again.
constexpr int kDeepest = 16;

/// Of threads that are no workers, which stay on one stack.
struct Turns {
  int depth = 0;
  Task* first = nullptr;
  Task* last = nullptr;
};

[[gnu::noinline]] Turns& turns_of_thread() noexcept {
  static thread_local Turns turns;
  return turns;
}

void run_waiting(Turns& turns) noexcept {
  while (Task* const task = turns.first) {
    turns.first = task->next;
    if (turns.first == nullptr) turns.last = nullptr;
    task->execute(*task);
  }
}

}  // namespace

void run_in_turn(Task& continuation) noexcept {
  if (Scheduler* const scheduler = Scheduler::current(); scheduler != nullptr) {
    scheduler->schedule(continuation);
    return;
  }
  Turns& turns = turns_of_thread();
  if (turns.depth == kDeepest) {
    continuation.next = nullptr;
    (turns.last != nullptr ? turns.last->next : turns.first) = &continuation;
    turns.last = &continuation;
    return;
  }
  ++turns.depth;
  continuation.execute(continuation);
  if (turns.depth == 1) run_waiting(turns);
  --turns.depth;
}

void run_turns_before_sleep() noexcept { run_waiting(turns_of_thread()); }

}  // namespace weft::parcel::detail
