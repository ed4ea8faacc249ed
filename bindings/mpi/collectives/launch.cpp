#include "bindings/mpi/collectives/launch.hpp"
#include "bindings/mpi/communicators/fail_on.hpp"
#include "bindings/mpi/explanations/waiting.hpp"
#include "bindings/mpi/objects/current_call.hpp"

#include <atomic>
#include <new>

namespace weft::mpi {

std::atomic<int> persistent_collectives{0};

namespace {

/// The coroutine that nobody awaits: it runs a task and completes a request.
struct Detached {
  struct promise_type {
    static void* operator new(std::size_t size) { return allocate_frame(size); }
    static void operator delete(void* frame, std::size_t size) noexcept { free_frame(frame, size); }
    Detached get_return_object() const noexcept { return {}; }
    [[nodiscard]] std::suspend_never initial_suspend() const noexcept { return {}; }
    [[nodiscard]] std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
};

/// `under_way`: how many there are of its kind, or null.
Detached carry_out(Task task, Request& request, std::atomic<int>* under_way) {
  int error = MPI_SUCCESS;
  try {
    co_await task;
  } catch (const Failure& failure) {
    error = failure.code;
  } catch (const std::bad_alloc&) {
    error = MPI_ERR_NO_MEM;
  }
  request.status = empty_status();
  request.status.MPI_ERROR = error;
  if (under_way != nullptr) under_way->fetch_sub(1, std::memory_order_release);
  request_signals().complete(request);
}

/// So often, in collectives of a communicator, a rank looks for what came late in those before the last one.
/// Immediate ones may end in any order: only where none is under way all have been passed.
constexpr int kLooksAfter = 1024;
void look_after(const Communicator& communicator, int number) {
  if (number % kLooksAfter != 0 || persistent_collectives.load(std::memory_order_relaxed) != 0) [[likely]]
    return;
  const auto last = [&](int which) {
    return static_cast<int>(communicator.collectives[which].load(std::memory_order_relaxed)) - 2;
  };
  Passed passed{last(0), 0};
  if (communicator.immediate_under_way.load(std::memory_order_acquire) == 0) passed.immediate = last(1) + 1;
  drop_what_came_late(communicator, passed);
}

/// The thread that runs a collective. Who ends it wakes the thread only if that waits.
class Waiter final : public TaskEnd {
 public:
  void task_has_ended() noexcept override {
    if (state_.exchange(kEnded, std::memory_order_acq_rel) == kWaiting) request_signals().wake();
  }
  template <class Purpose>
  void wait(const Purpose& purpose) noexcept {
    int state = state_.load(std::memory_order_acquire);
    if (state == kEnded || !state_.compare_exchange_strong(state, kWaiting, std::memory_order_acq_rel,
                                                           std::memory_order_acquire))
      return;
    wait_in_call(
        [](const void* waiter) noexcept {
          return static_cast<const Waiter*>(waiter)->state_.load(std::memory_order_acquire) == kEnded;
        },
        this, &request_signals(), purpose);
  }

 private:
  enum : int { kRunning, kWaiting, kEnded };
  std::atomic<int> state_{kRunning};
};

template <class Purpose>
void run_for(const Purpose& purpose, Communicator& communicator, Task& task) {
  Waiter waiter;
  task.start(waiter);
  waiter.wait(purpose);
  try {
    task.await_resume();
  } catch (const Failure& failure) {
    fail_on(&communicator, failure.code, "%s", failure.text.c_str());
  }
}

}  // namespace

int note_collective(Communicator& communicator, bool is_immediate) noexcept {
  const int which = static_cast<int>(is_immediate);
  communicator.last_collective[which].store(current_call, std::memory_order_relaxed);
  return static_cast<int>(communicator.collectives[which].load(std::memory_order_relaxed) / 2);
}

void launch(Task task, Request& request) { carry_out(std::move(task), request, nullptr); }

void run(Communicator& communicator, Task task) {
  const int number = note_collective(communicator, false);
  look_after(communicator, number);
  const auto purpose = [&] {
    return WaitPurpose{WaitPurpose::What::collective, &communicator, MPI_PROC_NULL, number};
  };
  run_for(purpose, communicator, task);
}

void run_apart(Communicator& communicator, Task task) {
  const auto purpose = [&] { return WaitPurpose{WaitPurpose::What::creation, &communicator}; };
  run_for(purpose, communicator, task);
}

void begin(Communicator& communicator, Task task, MPI_Request* handle) {
  Request* const request = take_request(communicator);
  request->what = Request::What::work;
  request->tag = note_collective(communicator, true);
  request->peer = 1;
  *handle = handle_of<MPI_Request>(request);
  look_after(communicator, request->tag);
  communicator.immediate_under_way.fetch_add(1, std::memory_order_relaxed);
  carry_out(std::move(task), *request, &communicator.immediate_under_way);
}

}  // namespace weft::mpi
