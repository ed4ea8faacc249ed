// Collectives in their three forms: the call that waits, the one that does not, and the one that is started
// again and again.
#pragma once

#include "bindings/mpi/collectives/exchange.hpp"
#include "bindings/mpi/collectives/kept_arrays.hpp"

#include <atomic>
#include <utility>

namespace weft::mpi {

/// Runs a collective to its end; fails with its error.
void run(Communicator& communicator, Task task);
/// The same for what only some members take part in: the communicator does not count it.
void run_apart(Communicator& communicator, Task task);
/// Begins it; it ends with the request.
void begin(Communicator& communicator, Task task, MPI_Request* request);
/// Notes for explanations that the current call is the communicator's last collective. Returns its number,
/// from 1.
int note_collective(Communicator& communicator, bool is_immediate) noexcept;
/// Begins it for a request that exists.
void launch(Task task, Request& request);

/// What `make(channel)` makes; `roll(channel)` is called when that has not refused the arguments. A call that
/// is refused has no number, so that it may be made again.
template <class Make, class Roll>
Task made_on(const Channel& channel, const Make& make, const Roll& roll) {
  try {
    Task task = make(channel);
    roll(channel);
    return told_to_all_sides(channel, std::move(task));
  } catch (...) {
    channel.communicator.collectives[channel.is_immediate() ? 1 : 0].fetch_sub(2, std::memory_order_relaxed);
    throw;
  }
}
/// The same with the next number of the communicator.
template <class Make, class Roll>
Task numbered(Communicator& communicator, bool is_immediate, const Make& make, const Roll& roll) {
  return made_on(Channel(communicator, is_immediate), make, roll);
}

/// A task, and with it what made it and holds its arrays.
template <class Make>
Task keep_until_end(Make made_by, Task task) {
  static_cast<void>(made_by);
  co_await task;
}

/// The number of persistent collectives in this process, whose messages have the numbers of long ago.
extern std::atomic<int> persistent_collectives;

/// A request that `make(channel)` starts each time. `roll(channel)` as above, now.
template <class Make, class Roll>
void prepare(Communicator& communicator, MPI_Request* handle, Make make, const Roll& roll) {
  struct Again final : RequestWork {
    Again(Communicator& of, Make&& what) : channel(of), make_task(std::move(what)) {
      persistent_collectives.fetch_add(1, std::memory_order_relaxed);
    }
    ~Again() override { persistent_collectives.fetch_sub(1, std::memory_order_relaxed); }
    void start(Request& request) override {
      if (error == MPI_SUCCESS) return launch(told_to_all_sides(channel, make_task(channel)), request);
      tell_of_failure(channel);
      request.status.MPI_ERROR = error;
      request_signals().complete(request);
    }
    int complete(Request& request, MPI_Status&) override { return error = request.status.MPI_ERROR; }
    Channel channel;  // one number for all starts: ranks may start several requests in any order
    Make make_task;
    int error = MPI_SUCCESS;  // has failed: members may be in different starts of it, now and later
  };
  auto work = std::make_unique<Again>(communicator, std::move(make));
  // What is wrong with the arguments is said here.
  static_cast<void>(made_on(work->channel, work->make_task, roll));
  Request* const request = take_request(communicator);
  request->what = Request::What::work;
  request->tag = note_collective(communicator, false);
  request->peer = 0;
  request->is_persistent = true;
  request->is_active = false;
  request->status = empty_status();
  request->work = work.release();
  *handle = handle_of<MPI_Request>(request);
}

}  // namespace weft::mpi
