// MPI_Wait, MPI_Test and their forms for several requests.
#include "bindings/mpi/communicators/fail_on.hpp"
#include "bindings/mpi/explanations/waiting.hpp"
#include "bindings/mpi/requests/request.hpp"
#include "bindings/mpi/requests/requests_calls.hpp"

namespace weft::mpi {

namespace {

constexpr int kRoundsOfTest = 8;
/// The same for messages to oneself that go through a socket, which is looked at once in some rounds.
constexpr int kRoundsThroughSockets = 256;

/// The request of a handle; nullptr for MPI_REQUEST_NULL.
Request* request_of(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return nullptr;
  auto* const request = find<Request>(handle);
  if (request == nullptr) refuse_ended();
  if (request->state.load(std::memory_order_relaxed) == Request::kFreed) [[unlikely]]
    refuse_freed();
  return request;
}

/// Only these can end: neither null nor persistent and not started.
bool is_active(const Request* request) noexcept { return request != nullptr && request->is_active; }

/// Its message needs this process alone.
bool waits_for_itself(const Request* request) noexcept {
  return is_active(request) && !request->is_done() && request->what != Request::What::work &&
         request->peer >= 0 && request->communicator->peer(request->peer) == own_world_rank;
}

/// For calls that test: goes on while it finds something to do, so that what takes few steps ends in one
/// call, as messages to oneself.
void progress_to_test(int count, const MPI_Request* handles) noexcept {
  for (int round = 0; round < kRoundsOfTest && world->endpoint.progress() != 0; ++round) {
  }
  if (world->way_within_host == World::Way::shared_memory) [[likely]]
    return;
  int rounds = kRoundsThroughSockets;
  for (int index = 0; index < count; ++index) {
    const Request* const request =
        handles[index] != MPI_REQUEST_NULL ? find<Request>(handles[index]) : nullptr;
    while (waits_for_itself(request) && --rounds > 0) world->endpoint.progress();
  }
}

void store_empty(MPI_Status* status) noexcept {
  if (status != MPI_STATUS_IGNORE) *status = empty_status();
}

/// A communicator that lasts although its last request ends.
class Retained {
 public:
  explicit Retained(Communicator* communicator) noexcept
      : communicator_(communicator != nullptr ? retain(communicator) : nullptr) {}
  Retained(const Retained&) = delete;
  Retained& operator=(const Retained&) = delete;
  ~Retained() {
    if (communicator_ != nullptr) release(communicator_);
  }
  [[nodiscard]] Communicator* get() const noexcept { return communicator_; }

 private:
  Communicator* const communicator_;
};

/// Ends a request that is done, has succeeded, and is a message of its own: most are. Returns false when it
/// is none of these. `sets_error`: the status gets its MPI_ERROR, too.
inline bool finish_plain(MPI_Request& handle, Request& request, MPI_Status* status, bool sets_error) {
  if (request.status.MPI_ERROR != MPI_SUCCESS || request.work != nullptr || request.is_persistent)
    return false;
  if (status != MPI_STATUS_IGNORE) {
    const int old_error = status->MPI_ERROR;
    *status = request.status;
    if (!sets_error) status->MPI_ERROR = old_error;
  }
  if (!is_shared(&request)) give_request(&request);
  handle = MPI_REQUEST_NULL;
  return true;
}

/// Ends a request that is done, and fails with its error.
void finish_one(MPI_Request& handle, MPI_Status* status) {
  Request& request = *find<Request>(handle);
  if (finish_plain(handle, request, status, false)) [[likely]]
    return;
  const Retained communicator(request.communicator);
  MPI_Status own;
  own.MPI_ERROR = MPI_SUCCESS;
  const int error = finish_request(handle, &own);
  own.MPI_ERROR = error;
  if (status != MPI_STATUS_IGNORE) {
    const int old_error = status->MPI_ERROR;
    *status = own;
    status->MPI_ERROR = old_error;
  }
  if (error != MPI_SUCCESS) fail_with(communicator.get(), own);
}

/// Ends those that are done of several; their statuses have their errors.
struct Several {
  int count;
  MPI_Request* handles;
  MPI_Status* statuses;

  [[nodiscard]] MPI_Status* status(int index) const noexcept {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + index;
  }
  /// Returns the error. `at`: where its status goes.
  int finish(int index, int at) const {
    MPI_Status own = empty_status();
    const int error = finish_request(handles[index], &own);
    own.MPI_ERROR = error;
    if (MPI_Status* const result = status(at); result != MPI_STATUS_IGNORE) *result = own;
    if (error != MPI_SUCCESS) first_failed = own;
    return error;
  }
  mutable MPI_Status first_failed = empty_status();
};

[[noreturn]] void fail_in_status(Communicator* communicator, const MPI_Status& failed) {
  fail_on(communicator, MPI_ERR_IN_STATUS, "a request failed with %s; its status has the error",
          name_of_class(failed.MPI_ERROR));
}

Communicator* communicator_of_first(int count, const MPI_Request* handles) {
  for (int index = 0; index < count; ++index)
    if (const Request* const request = request_of(handles[index]); request != nullptr)
      return request->communicator;
  return nullptr;
}

void check_count(int count) {
  if (count < 0) fail(MPI_ERR_COUNT, "%d requests; 0 or more are needed", count);
}

bool all_done(int count, const MPI_Request* handles) {
  for (int index = 0; index < count; ++index)
    if (const Request* const request = request_of(handles[index]); is_active(request) && !request->is_done())
      return false;
  return true;
}

/// The first active request that is done, from `from` on, or count. `active`: whether any is active.
int next_done(int count, const MPI_Request* handles, int from, bool& active) noexcept {
  for (int index = from; index < count; ++index) {
    const auto* const request = find<Request>(handles[index]);
    if (!is_active(request)) continue;
    active = true;
    if (request->is_done()) return index;
  }
  return count;
}

struct AnyOf {
  int count;
  const MPI_Request* handles;
};

/// Progresses until one of them is done; returns its index, or MPI_UNDEFINED when none is active.
int wait_for_any(int count, const MPI_Request* handles) {
  for (int index = 0; index < count; ++index) static_cast<void>(request_of(handles[index]));
  bool active = false;
  if (const int index = next_done(count, handles, 0, active); index < count) return index;
  if (!active) return MPI_UNDEFINED;
  const AnyOf any{count, handles};
  wait_in_call(
      [](const void* context) noexcept {
        const auto& of = *static_cast<const AnyOf*>(context);
        bool ignored = false;
        return next_done(of.count, of.handles, 0, ignored) < of.count;
      },
      &any, &request_signals(), [] { return WaitPurpose{}; });
  return next_done(count, handles, 0, active);
}

/// As the calls that test: progresses once if none is done.
int test_for_any(int count, const MPI_Request* handles, bool& active) {
  for (int index = 0; index < count; ++index) static_cast<void>(request_of(handles[index]));
  const int index = next_done(count, handles, 0, active);
  if (index < count || !active) return index;
  progress_to_test(count, handles);
  return next_done(count, handles, 0, active);
}

void finish_some(int count, MPI_Request* handles, int* done, int* indices, MPI_Status* statuses) {
  const Retained communicator(communicator_of_first(count, handles));
  const Several several{count, handles, statuses};
  bool failed = false, ignored = false;
  *done = 0;
  progress_to_test(count, handles);  // one is done; others may be that only progress tells of
  for (int index = next_done(count, handles, 0, ignored); index < count;
       index = next_done(count, handles, index + 1, ignored)) {
    failed |= several.finish(index, *done) != MPI_SUCCESS;
    indices[(*done)++] = index;
  }
  if (failed) fail_in_status(communicator.get(), several.first_failed);
}

}  // namespace

void wait(MPI_Request* handle, MPI_Status* status) {
  const Request* const request = request_of(*handle);
  if (!is_active(request)) return store_empty(status);
  wait_done(*request);
  finish_one(*handle, status);
}

void test(MPI_Request* handle, int* flag, MPI_Status* status) {
  const Request* const request = request_of(*handle);
  *flag = 1;
  if (!is_active(request)) return store_empty(status);
  if (!request->is_done()) progress_to_test(1, handle);
  if (!request->is_done()) {
    *flag = 0;
    return;
  }
  finish_one(*handle, status);
}

void waitall(int count, MPI_Request* handles, MPI_Status* statuses) {
  check_count(count);
  const Several several{count, handles, statuses};
  std::shared_ptr<Communicator> of_failed;
  for (int index = 0; index < count; ++index) {
    Request* const request = request_of(handles[index]);
    if (!is_active(request)) {
      if (MPI_Status* const status = several.status(index); status != MPI_STATUS_IGNORE)
        *status = empty_status();
      continue;
    }
    if (!request->is_done()) wait_done(*request);
    if (finish_plain(handles[index], *request, several.status(index), true)) [[likely]]
      continue;
    const Retained communicator(request->communicator);
    if (several.finish(index, index) != MPI_SUCCESS) of_failed = keep(communicator.get());
  }
  if (of_failed != nullptr) fail_in_status(of_failed.get(), several.first_failed);
}

void testall(int count, MPI_Request* handles, int* flag, MPI_Status* statuses) {
  check_count(count);
  if (!all_done(count, handles)) {
    progress_to_test(count, handles);
    if (!all_done(count, handles)) {
      *flag = 0;
      return;
    }
  }
  *flag = 1;
  waitall(count, handles, statuses);
}

void waitany(int count, MPI_Request* handles, int* index, MPI_Status* status) {
  check_count(count);
  *index = wait_for_any(count, handles);
  if (*index == MPI_UNDEFINED) return store_empty(status);
  finish_one(handles[*index], status);
}

void testany(int count, MPI_Request* handles, int* index, int* flag, MPI_Status* status) {
  check_count(count);
  bool active = false;
  const int found = test_for_any(count, handles, active);
  *flag = found < count || !active ? 1 : 0;
  *index = found < count ? found : MPI_UNDEFINED;
  if (found < count) return finish_one(handles[found], status);
  if (!active) store_empty(status);
}

void waitsome(int count, MPI_Request* handles, int* done, int* indices, MPI_Status* statuses) {
  check_count(count);
  *done = MPI_UNDEFINED;
  if (wait_for_any(count, handles) != MPI_UNDEFINED) finish_some(count, handles, done, indices, statuses);
}

void testsome(int count, MPI_Request* handles, int* done, int* indices, MPI_Status* statuses) {
  check_count(count);
  bool active = false;
  const int found = test_for_any(count, handles, active);
  *done = active ? 0 : MPI_UNDEFINED;
  if (found < count) finish_some(count, handles, done, indices, statuses);
}

void request_get_status(MPI_Request handle, int* flag, MPI_Status* status) {
  Request* const request = request_of(handle);
  *flag = 1;
  if (!is_active(request)) return store_empty(status);
  if (!request->is_done()) progress_to_test(1, &handle);
  *flag = request->is_done() ? 1 : 0;
  if (*flag == 0) return;
  int error = MPI_SUCCESS;
  if (request->work != nullptr) error = request->work->complete(*request, request->status);
  if (status != MPI_STATUS_IGNORE) {
    const int old_error = status->MPI_ERROR;
    *status = request->status;
    status->MPI_ERROR = old_error;
  }
  if (error == MPI_SUCCESS) return;
  MPI_Status failed = request->status;
  failed.MPI_ERROR = error;
  fail_with(request->communicator, failed);
}

void request_get_status_all(int count, const MPI_Request* handles, int* flag, MPI_Status* statuses) {
  check_count(count);
  if (!all_done(count, handles)) progress_to_test(count, handles);
  *flag = all_done(count, handles) ? 1 : 0;
  if (*flag == 0) return;
  for (int index = 0; index < count; ++index) {
    int ignored = 0;
    request_get_status(handles[index], &ignored,
                       statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + index);
  }
}

void request_get_status_any(int count, const MPI_Request* handles, int* index, int* flag,
                            MPI_Status* status) {
  check_count(count);
  bool active = false;
  const int found = test_for_any(count, handles, active);
  *flag = found < count || !active ? 1 : 0;
  *index = found < count ? found : MPI_UNDEFINED;
  int ignored = 0;
  if (found < count) return request_get_status(handles[found], &ignored, status);
  if (!active) store_empty(status);
}

void request_get_status_some(int count, const MPI_Request* handles, int* done, int* indices,
                             MPI_Status* statuses) {
  check_count(count);
  bool active = false;
  int index = test_for_any(count, handles, active);
  *done = active ? 0 : MPI_UNDEFINED;
  for (; index < count; index = next_done(count, handles, index + 1, active)) {
    int ignored = 0;
    request_get_status(handles[index], &ignored,
                       statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + *done);
    indices[(*done)++] = index;
  }
}

}  // namespace weft::mpi
