#include "bindings/mpi/requests/request.hpp"

#include "bindings/mpi/communicators/fail_on.hpp"
#include "bindings/mpi/datatypes/pack.hpp"
#include "bindings/mpi/explanations/waiting.hpp"
#include "bindings/mpi/objects/blocks.hpp"
#include "bindings/mpi/objects/current_call.hpp"
#include "bindings/mpi/transport/matching.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace weft::mpi {

namespace {

/// Requests that threads left behind when they ended.
std::mutex left_mutex;
Request* left_requests = nullptr;

/// All that there are, to be looked through at the end.
std::mutex all_mutex;
std::vector<Request*>& all_requests() {
  static auto& all = *new std::vector<Request*>;
  return all;
}
Request* new_request() {
  auto* const request = new Request;
  const std::lock_guard lock(all_mutex);
  all_requests().push_back(request);
  return request;
}

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
    first->kind = Kind::request;
    return std::exchange(first, first->next);
  }
  [[gnu::noinline]] void refill() {
    {
      const std::lock_guard lock(left_mutex);
      first = std::exchange(left_requests, nullptr);
    }
    if (first == nullptr) first = new_request();
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

/// Notes the call that makes a request. Not a part of take_request(), which saves no registers for it.
[[gnu::cold, gnu::noinline]] static Request* note_site(Request* request) {
  request->checked = std::make_unique<CheckedMessage>(CallSite::current());
  // What carries on with collectives has entered no call.
  if (world->is_for_one_thread && std::this_thread::get_id() != world->main_thread &&
      current_caller != nullptr)
    end_with_finding(request->checked->site, request->communicator, MPI_ERR_OTHER,
                     "another thread calls than that which called MPI_Init, and MPI_THREAD_SERIALIZED or "
                     "MPI_THREAD_MULTIPLE was not asked for (MPI_Init_thread)");
  return request;
}

Request* take_request(Communicator& communicator) {
  Request* const request = free_requests.take();
  request->state.store(Request::kPending, std::memory_order_relaxed);
  request->communicator = retain(&communicator);
  request->is_persistent = false;
  request->is_active = true;
  request->has_handle = false;
  request->scattered_room = 0;
  request->owner = nullptr;
  request->tag = 0;
  if (is_checked) [[unlikely]]
    return note_site(request);
  return request;
}

namespace {

/// The request of a blocking call, or one that has been waited for: its buffer is the program's again.
[[gnu::cold]] void drop_checked(Request& request) noexcept {
  end_use(*request.checked, *request.communicator);
  request.checked.reset();
}

/// Releases what few requests hold.
[[gnu::noinline]] void release_all(Request* request) noexcept {
  if (request->checked != nullptr) drop_checked(*request);
  if (request->staging != nullptr) free_block(std::exchange(request->staging, nullptr));
  if (request->type != nullptr) release(std::exchange(request->type, nullptr));
  if (request->work != nullptr) delete std::exchange(request->work, nullptr);
  if (request->number.load(std::memory_order_relaxed) != 0) give_back_number(*request);
}

[[nodiscard]] std::uintptr_t address_of(const void* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

}  // namespace

void give_send_request(Request* request) noexcept {
  request->kind = Kind{};  // so that a handle which the program still has is found to be none
  request->next = free_requests.first;
  free_requests.first = request;
}

void give_request(Request* request) noexcept {
  Communicator* const communicator = request->communicator;
  // One test for all: this is in the way of every receive.
  const std::uintptr_t held = address_of(request->staging) | address_of(request->type) |
                              address_of(request->work) | address_of(request->checked.get()) |
                              static_cast<std::uintptr_t>(request->number.load(std::memory_order_relaxed));
  if (held != 0) [[unlikely]]
    release_all(request);
  give_send_request(request);
  release(communicator);
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

std::span<std::byte> start_checked(Request& request, const void* buffer, MPI_Count count, Datatype& type) {
  const bool is_receive = request.what == Request::What::receive;
  begin_use(*request.checked, *request.communicator, buffer, count, type, is_receive);
  const MPI_Count bytes = type.size * count;
  request.staging = is_receive ? room_with_header(bytes) : with_header(buffer, count, type);
  return {request.staging, static_cast<std::size_t>(bytes) + kHeaderBytes};
}

/// An error where packed elements end within a basic one.
static void check_end(const Datatype& type, MPI_Count count, MPI_Count bytes, MPI_Status& status) noexcept {
  MPI_Count rest = 0;
  if (bytes < type.size * count) static_cast<void>(basics_within(type, bytes, rest));
  if (rest != 0 && status.MPI_ERROR == MPI_SUCCESS) status.MPI_ERROR = MPI_ERR_TYPE;
}

/// Packed elements to where they belong.
static void finish_packed(Request& request, MPI_Count bytes) noexcept {
  unpack_elements(*request.type, request.count, request.staging, bytes, request.buffer);
  check_end(*request.type, request.count, bytes, request.status);
}

/// The status of a receive of elements behind a header, and the elements to their buffer.
[[gnu::cold]] static void finish_checked(Request& request) noexcept {
  MPI_Status& status = request.status;
  const MPI_Count bytes = bytes_in(status);
  const Datatype& type = *request.checked->type;
  if (bytes > 0 && !type.is_dense(request.checked->count))
    check_end(type, request.checked->count, bytes - static_cast<MPI_Count>(kHeaderBytes), status);
  if (bytes > 0 && status.MPI_ERROR == MPI_SUCCESS)
    unpack_checked(*request.checked, *request.communicator, request.staging, bytes, status.MPI_SOURCE,
                   status.MPI_TAG);
  set_bytes(status, bytes > 0 ? bytes - static_cast<MPI_Count>(kHeaderBytes) : 0);
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
    if (request.staging != nullptr) {
      if (request.checked != nullptr && request.checked->is_under_way) [[unlikely]]
        finish_checked(request);
      else
        finish_packed(request, static_cast<MPI_Count>(message.size()));
    }
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

void refuse_ended() {
  if (world == nullptr) fail_uninitialised();
  fail(MPI_ERR_REQUEST, "the handle is no request, or one that has ended");
}

void refuse_freed() {
  fail(MPI_ERR_REQUEST,
       "the request has been freed (MPI_Request_free), and can be neither waited for nor used again");
}

/// What a wait for the request is for.
static WaitPurpose purpose_of(const Request& request) noexcept {
  using What = WaitPurpose::What;
  What what = request.what == Request::What::send ? What::send : What::receive;
  if (request.what == Request::What::work)
    what = request.tag == 0               ? What::creation
           : request.tag == kOfPartitions ? What::partitions
           : request.tag < 0              ? What::program
                                          : What::collective;
  return {what, request.communicator, request.peer, request.tag};
}

void wait_done(const Request& request) noexcept {
  if (request.is_done()) return;
  wait_in_call([](const void* context) noexcept { return static_cast<const Request*>(context)->is_done(); },
               &request, &request_signals(), [&] { return purpose_of(request); });
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
    if (request->checked != nullptr) end_use(*request->checked, *request->communicator);
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

void visit_sends_under_way(const std::function<void(const Request&)>& visit) {
  const std::lock_guard lock(all_mutex);
  for (const Request* const request : all_requests())
    if (request->kind == Kind::request && request->what == Request::What::send && request->is_active &&
        request->state.load(std::memory_order_acquire) != Request::kDone && request->communicator != nullptr)
      visit(*request);
}

void end_requests() noexcept {
  const std::lock_guard lock(all_mutex);
  for (Request* const request : all_requests()) end_object(*request);
}

std::string leaked_requests(bool with_those_ended) {
  int active = 0, ended = 0, persistent = 0;
  const Request* first = nullptr;
  const std::lock_guard lock(all_mutex);
  for (const Request* const request : all_requests()) {
    const std::uint32_t state = request->state.load(std::memory_order_acquire);
    if (request->kind != Kind::request || state == Request::kFreed || request->owner != nullptr) continue;
    if (!with_those_ended && (!request->is_active || state == Request::kDone)) continue;
    if (first == nullptr) first = request;
    ++(!request->is_active ? persistent : state == Request::kDone ? ended : active);
  }
  const int all = active + ended + persistent;
  if (all == 0) return "";
  std::string line = "weft-mpi: rank " + std::to_string(own_world_rank) +
                     ": MPI_Finalize: " + std::to_string(all) +
                     (all == 1 ? " request was" : " requests were") + " never completed or freed (" +
                     std::to_string(active) + " under way, " + std::to_string(ended) +
                     " ended but not waited for or tested, " + std::to_string(persistent) + " persistent)";
  if (first->checked != nullptr) line += "; the first was made by " + described(first->checked->site);
  return line + "\n";
}

void fail_with(Communicator* communicator, const MPI_Status& status) {
  if (status.MPI_ERROR == MPI_ERR_TRUNCATE)
    fail_on(communicator, MPI_ERR_TRUNCATE,
            "the message from rank %d with tag %d is longer than the buffer, which has room for %lld bytes",
            status.MPI_SOURCE, status.MPI_TAG, static_cast<long long>(bytes_in(status)));
  if (status.MPI_ERROR == MPI_ERR_TYPE)
    fail_on(communicator, MPI_ERR_TYPE,
            "the message from rank %d with tag %d has %lld bytes and ends within an element of the datatype",
            status.MPI_SOURCE, status.MPI_TAG, static_cast<long long>(bytes_in(status)));
  if (status.MPI_ERROR == MPI_ERR_PROC_ABORTED)
    fail_on(communicator, MPI_ERR_PROC_ABORTED, "the peer process has ended or left the job");
  fail_on(communicator, status.MPI_ERROR, "the operation failed");
}

}  // namespace weft::mpi
