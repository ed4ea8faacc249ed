#include "bindings/mpi/requests/request.hpp"

#include "bindings/mpi/communicators/fail_on.hpp"
#include "bindings/mpi/datatypes/pack.hpp"
#include "bindings/mpi/objects/blocks.hpp"
#include "bindings/mpi/objects/current_call.hpp"
#include "bindings/mpi/transport/matching.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

namespace weft::mpi {

namespace {

/// Requests that threads left behind when they ended.
std::mutex left_mutex;
Request* left_requests = nullptr;

struct FreeRequests {
  ~FreeRequests() {
    if (first == nullptr) return;
    const std::lock_guard lock(left_mutex);
    Request* last = first;
    while (last->next != nullptr) last = last->next;
    last->next = left_requests;
    left_requests = first;
  }
  Request* take() {
    if (first == nullptr) [[unlikely]]
      refill();
    return std::exchange(first, first->next);
  }
  [[gnu::noinline]] void refill() {
    {
      const std::lock_guard lock(left_mutex);
      first = std::exchange(left_requests, nullptr);
    }
    if (first == nullptr) first = new Request;
  }
  Request* first = nullptr;
};
thread_local FreeRequests free_requests;

alignas(RequestSignals) std::byte signals_storage[sizeof(RequestSignals)];

}  // namespace

RequestSignals& request_signals() noexcept {
  return *std::launder(reinterpret_cast<RequestSignals*>(signals_storage));
}
void open_request_signals() { new (signals_storage) RequestSignals; }
void close_request_signals() noexcept { request_signals().~RequestSignals(); }

Request ended_send;
Request ended_receive_of_no_process;

namespace {
const bool kSharedRequestsAreDone = [] {
  ended_send.what = Request::What::send;
  ended_send.status = empty_status();
  ended_receive_of_no_process.what = Request::What::receive;
  ended_receive_of_no_process.status = status_of_no_process();
  for (Request* request : {&ended_send, &ended_receive_of_no_process})
    request->state.store(Request::kDone, std::memory_order_relaxed);
  return true;
}();
}  // namespace

Request* take_request(Communicator& communicator) {
  Request* const request = free_requests.take();
  request->state.store(Request::kPending, std::memory_order_relaxed);
  request->communicator = retain(&communicator);
  request->is_persistent = false;
  request->is_active = true;
  request->has_handle = false;
  request->scattered_room = 0;
  request->owner = nullptr;
  return request;
}

namespace {

/// Releases what few requests hold. Returns false when the request has ended with it: its handle has an
/// integer, which ends, too.
[[gnu::noinline]] bool release_all(Request* request) noexcept {
  if (request->staging != nullptr) free_block(std::exchange(request->staging, nullptr));
  if (request->type != nullptr) release(std::exchange(request->type, nullptr));
  if (request->work != nullptr) delete std::exchange(request->work, nullptr);
  if (request->number.load(std::memory_order_relaxed) == 0) return true;
  delete request;
  return false;
}

}  // namespace

void give_request(Request* request) noexcept {
  release(request->communicator);
  const bool is_bare = request->staging == nullptr && request->type == nullptr && request->work == nullptr &&
                       request->number.load(std::memory_order_relaxed) == 0;
  if (!is_bare && !release_all(request)) [[unlikely]]
    return;
  request->next = free_requests.first;
  free_requests.first = request;
}

Request* take_send_request(Communicator& communicator) {
  Request* const request = free_requests.take();
  request->state.store(Request::kPending, std::memory_order_relaxed);
  request->what = Request::What::send;
  request->is_persistent = false;
  request->is_active = true;
  request->communicator = &communicator;
  request->owner = nullptr;
  return request;
}

void give_send_request(Request* request) noexcept {
  request->next = free_requests.first;
  free_requests.first = request;
}

void RequestSignals::signal(Message& message) noexcept {
  Request& request = *static_cast<Request*>(message.user_data());
  MPI_Status& status = request.status;
  status.MPI_ERROR = MPI_SUCCESS;
  const Outcome outcome = message.outcome();
  set_cancelled(status, outcome == Outcome::cancelled);
  if (request.what == Request::What::receive) {
    status.MPI_TAG = tag_of_key(message.tag());
    status.MPI_SOURCE =
        request.peer != MPI_ANY_SOURCE ? request.peer : request.communicator->peers().rank_of(message.peer());
    set_bytes(status, request.scattered_room == 0
                          ? static_cast<MPI_Count>(message.size())
                          : std::min(static_cast<MPI_Count>(message.length()), request.scattered_room));
    if (outcome == Outcome::truncated) status.MPI_ERROR = MPI_ERR_TRUNCATE;
    if (request.staging != nullptr)
      unpack_elements(*request.type, request.count, request.staging, static_cast<MPI_Count>(message.size()),
                      request.buffer);
  }
  if (outcome == Outcome::peer_failed || outcome == Outcome::refused || outcome == Outcome::timed_out)
    status.MPI_ERROR = MPI_ERR_PROC_ABORTED;
  if (request.staging != nullptr) free_block(std::exchange(request.staging, nullptr));
  mark_done(request);
}

void RequestSignals::complete(Request& request) noexcept { mark_done(request); }

void RequestSignals::mark_done(Request& request) noexcept {
  if (request.owner != nullptr) {
    request.owner->finish(request);
  } else if (request.state.exchange(Request::kDone, std::memory_order_acq_rel) == Request::kFreed) {
    give_request(&request);
  }
  notify_waiters();
}

void wait_done(const Request& request) noexcept {
  if (request.is_done()) return;
  world->endpoint.wait_condition(
      {[](const void* context) noexcept { return static_cast<const Request*>(context)->is_done(); },
       &request,
       &request_signals(),
       {current_call, {}, -1, false, false}});
}

int finish_request(MPI_Request& handle, MPI_Status* status) {
  auto* const request = find<Request>(handle);
  int error = request->status.MPI_ERROR;
  if (request->work != nullptr && request->is_active)
    error = request->work->complete(*request, request->status);
  if (status != MPI_STATUS_IGNORE) {
    const int old_error = status->MPI_ERROR;
    *status = request->status;
    status->MPI_ERROR = old_error;  // only calls that complete several write it
  }
  if (request->is_persistent) {
    request->is_active = false;
    request->status = empty_status();
    return error;
  }
  if (request->work != nullptr) {
    const int closing = request->work->close();
    error = error != MPI_SUCCESS ? error : closing;
  }
  if (!is_shared(request)) give_request(request);
  handle = MPI_REQUEST_NULL;
  return error;
}

void fail_with(Communicator* communicator, const MPI_Status& status) {
  if (status.MPI_ERROR == MPI_ERR_TRUNCATE)
    fail_on(communicator, MPI_ERR_TRUNCATE,
            "the message from rank %d with tag %d is longer than the buffer, which has room for %lld bytes",
            status.MPI_SOURCE, status.MPI_TAG, static_cast<long long>(bytes_in(status)));
  if (status.MPI_ERROR == MPI_ERR_PROC_ABORTED)
    fail_on(communicator, MPI_ERR_PROC_ABORTED, "the peer process has ended or left the job");
  fail_on(communicator, status.MPI_ERROR, "the operation failed");
}

}  // namespace weft::mpi
