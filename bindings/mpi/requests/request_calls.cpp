// Requests one by one: freeing, cancelling, starting; generalised requests; and what statuses tell.
#include "bindings/mpi/datatypes/pack.hpp"
#include "bindings/mpi/explanations/waiting.hpp"
#include "bindings/mpi/requests/request.hpp"
#include "bindings/mpi/requests/requests_calls.hpp"
#include "bindings/mpi/requests/start.hpp"

#include <chrono>

namespace weft::mpi {

namespace {

Request& needed(MPI_Request handle) {
  auto* const request = find<Request>(handle);
  if (world == nullptr) fail_uninitialised();
  if (request == nullptr) fail(MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL, or one that has ended");
  if (request->state.load(std::memory_order_relaxed) == Request::kFreed) refuse_freed();
  return *request;
}

MPI_Count count_in(const MPI_Status& status, const Datatype& type) noexcept {
  const MPI_Count bytes = bytes_in(status);
  if (type.size == 0) return bytes == 0 ? 0 : kUndefined;
  return bytes % type.size == 0 ? bytes / type.size : kUndefined;
}

/// How long MPI_Cancel goes on with a send to this process: long enough, unless a probe has taken the message
/// out, which then ends with its receive.
constexpr std::chrono::milliseconds kTimeOfCancel{100};

void progress_until_done(const Request& request) noexcept {
  const auto end = std::chrono::steady_clock::now() + kTimeOfCancel;
  while (!request.is_done() && std::chrono::steady_clock::now() < end) world->endpoint.progress();
}

/// A generalised request: the program says when it is done, and what its status is.
struct Generalized final : RequestWork {
  ~Generalized() override { static_cast<void>(Generalized::close()); }
  int close() override {
    MPI_Grequest_free_function* const function = free;
    free = nullptr;
    return function != nullptr ? function(extra) : MPI_SUCCESS;
  }
  bool cancel(Request& request) override {
    const int code = cancel_function(extra, request.is_done() ? 1 : 0);
    if (code != MPI_SUCCESS)
      fail(code, "the cancel function of a generalised request failed with code %d", code);
    return false;
  }
  int complete(Request&, MPI_Status& status) override {
    const int code = query(extra, &status);
    return code != MPI_SUCCESS ? code : MPI_SUCCESS;
  }
  MPI_Grequest_query_function* query = nullptr;
  MPI_Grequest_free_function* free = nullptr;
  MPI_Grequest_cancel_function* cancel_function = nullptr;
  void* extra = nullptr;
};

}  // namespace

void request_free(MPI_Request* handle) {
  Request& request = needed(*handle);
  *handle = MPI_REQUEST_NULL;
  if (is_shared(&request)) return;
  if (!request.is_active ||
      request.state.exchange(Request::kFreed, std::memory_order_acq_rel) == Request::kDone)
    give_request(&request);
}

void cancel(MPI_Request* handle) {
  Request& request = needed(*handle);
  if (!request.is_active) fail(MPI_ERR_REQUEST, "the persistent request has not been started");
  if (request.work != nullptr) {
    static_cast<void>(request.work->cancel(request));
    return;
  }
  if (!request.has_handle || request.is_done()) return;
  if (request.what == Request::What::receive)
    static_cast<void>(world->endpoint.cancel(request.handle));
  else if (world->endpoint.cancel(request.send_handle) &&
           request.communicator->peer(request.peer) == own_world_rank)
    progress_until_done(request);  // before the program posts a receive that would wait for the message
}

void start(MPI_Request* handle) {
  Request& request = needed(*handle);
  if (!request.is_persistent)
    fail(MPI_ERR_REQUEST, "the request is not persistent; one of MPI_..._init is needed");
  if (request.is_active)
    fail(MPI_ERR_REQUEST, "the persistent request is active; it must end before it is started again");
  start_persistent(request);
}
void startall(int count, MPI_Request* handles) {
  for (int index = 0; index < count; ++index) start(handles + index);
}

void grequest_start(MPI_Grequest_query_function* query, MPI_Grequest_free_function* free,
                    MPI_Grequest_cancel_function* cancel_function, void* extra, MPI_Request* handle) {
  Request* const request = take_request(*communicator_world);
  auto* const work = new Generalized;
  work->query = query;
  work->free = free;
  work->cancel_function = cancel_function;
  work->extra = extra;
  request->what = Request::What::work;
  request->tag = -1;
  request->work = work;
  request->status = empty_status();
  *handle = handle_of<MPI_Request>(request);
  generalised_requests.fetch_add(1, std::memory_order_relaxed);
}
void grequest_complete(MPI_Request handle) {
  Request& request = needed(handle);
  if (request.work == nullptr || request.tag != -1)
    fail(MPI_ERR_REQUEST, "the request is none of MPI_Grequest_start");
  if (request.is_done()) fail(MPI_ERR_REQUEST, "the generalised request is complete already");
  generalised_requests.fetch_sub(1, std::memory_order_relaxed);
  request_signals().complete(request);
}

void test_cancelled(const MPI_Status* status, int* flag) { *flag = is_cancelled(*status) ? 1 : 0; }
void get_count(const MPI_Status* status, Datatype& type, CountResult count) {
  count = count_in(*status, type);
}
void get_elements_x(const MPI_Status* status, Datatype& type, MPI_Count* count) {
  MPI_Count rest = 0;
  const MPI_Count found = basics_within(type, bytes_in(*status), rest);
  *count = rest == 0 ? found : kUndefined;
}
void get_elements(const MPI_Status* status, Datatype& type, CountResult count) {
  MPI_Count found = 0;
  get_elements_x(status, type, &found);
  count = found;
}
void status_set_elements_x(MPI_Status* status, Datatype& type, MPI_Count count) {
  // Elements of the datatype, not basic ones: so count the implementations that programs are written with.
  set_bytes(*status, type.size * count);
}
void status_set_elements(MPI_Status* status, Datatype& type, MPI_Count count) {
  status_set_elements_x(status, type, count);
}
void status_set_cancelled(MPI_Status* status, int flag) { set_cancelled(*status, flag != 0); }
void status_get_error(const MPI_Status* status, int* error) { *error = status->MPI_ERROR; }
void status_get_source(const MPI_Status* status, int* source) { *source = status->MPI_SOURCE; }
void status_get_tag(const MPI_Status* status, int* tag) { *tag = status->MPI_TAG; }
void status_set_error(MPI_Status* status, int error) { status->MPI_ERROR = error; }
void status_set_source(MPI_Status* status, int source) { status->MPI_SOURCE = source; }
void status_set_tag(MPI_Status* status, int tag) { status->MPI_TAG = tag; }

}  // namespace weft::mpi
