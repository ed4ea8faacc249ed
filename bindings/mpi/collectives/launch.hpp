// Collectives in their three forms: the call that waits, the one that does not, and the one that is started
// again and again.
#pragma once

#include "bindings/mpi/collectives/exchange.hpp"
#include "bindings/mpi/collectives/kept_arrays.hpp"

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

/// What `make(channel)` makes, with the next number of the communicator. A call that is refused has none, so that it
/// may be made again.
template <class Make>
Task numbered(Communicator& communicator, bool is_immediate, const Make& make) {
  try {
    return make(Channel(communicator, is_immediate));
  } catch (...) {
    communicator.collectives[static_cast<int>(is_immediate)].fetch_sub(2, std::memory_order_relaxed);
    throw;
  }
}

/// A task, and with it what made it and holds its arrays.
template <class Make>
Task keep_until_end(Make made_by, Task task) {
  static_cast<void>(made_by);
  co_await task;
}

/// A request that `make(channel)` starts each time.
template <class Make>
void prepare(Communicator& communicator, MPI_Request* handle, Make make) {
  struct Again final : RequestWork {
    Again(Communicator& of, Make&& what) : channel(of), make_task(std::move(what)) {}
    void start(Request& request) override { launch(make_task(channel), request); }
    int complete(Request& request, MPI_Status&) override { return request.status.MPI_ERROR; }
    Channel channel;  // one number for all starts: ranks may start several requests in any order
    Make make_task;
  };
  auto work = std::make_unique<Again>(communicator, std::move(make));
  static_cast<void>(work->make_task(work->channel));  // what is wrong with the arguments is said here
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
