#include "bindings/mpi/collectives/launch.hpp"
#include "bindings/mpi/communicators/fail_on.hpp"

#include <new>
#include <string>

namespace weft::mpi {

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

Detached carry_out(Task task, Request& request, std::string* text) {
  int error = MPI_SUCCESS;
  try {
    co_await task;
  } catch (const Failure& failure) {
    error = failure.code;
    if (text != nullptr) *text = failure.text;
  } catch (const std::bad_alloc&) {
    error = MPI_ERR_NO_MEM;
  }
  request.status = empty_status();
  request.status.MPI_ERROR = error;
  request_signals().complete(request);
}

}  // namespace

void launch(Task task, Request& request) { carry_out(std::move(task), request, nullptr); }

void run(Communicator& communicator, Task task) {
  Request* const request = take_request(communicator);
  request->what = Request::What::work;
  std::string text;
  carry_out(std::move(task), *request, &text);
  wait_done(*request);
  const int error = request->status.MPI_ERROR;
  give_request(request);
  if (error != MPI_SUCCESS) fail_on(&communicator, error, "%s", text.c_str());
}

void begin(Communicator& communicator, Task task, MPI_Request* handle) {
  Request* const request = take_request(communicator);
  request->what = Request::What::work;
  *handle = handle_of<MPI_Request>(request);
  carry_out(std::move(task), *request, nullptr);
}

}  // namespace weft::mpi
