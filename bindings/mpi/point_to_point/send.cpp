// Sends in all modes: blocking, immediate and persistent.
#include "bindings/mpi/communicators/fail_on.hpp"
#include "bindings/mpi/datatypes/pack.hpp"
#include "bindings/mpi/point_to_point/checks.hpp"
#include "bindings/mpi/point_to_point/point_to_point_calls.hpp"
#include "bindings/mpi/requests/start.hpp"
#include "bindings/mpi/transport/matching.hpp"

#include <memory>

namespace weft::mpi {

namespace {

/// Posts a send whose bytes lie in one block. Returns its request; nullptr when it has ended.
inline Request* post_block(const void* buffer, MPI_Count count, const Datatype& type, int dest, int tag,
                           Communicator& communicator, bool can_be_cancelled) {
  Request* const request = take_send_request(communicator);
  request->status = empty_status();
  request->peer = dest;
  request->has_handle = can_be_cancelled;
  if (post_send(communicator.peer(dest), communicator.context, tag,
                Bytes(shifted(buffer, type.true_lb), static_cast<std::size_t>(type.size * count)),
                request_signals(), request, can_be_cancelled ? &request->send_handle : nullptr)) {
    give_send_request(request);
    return nullptr;
  }
  request->tag = tag;
  retain(&communicator);
  return request;
}

/// Posts a send that is not just one block. Its request is given back where it is refused (a full buffer).
[[gnu::noinline]] Request* post_other(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
                                      Communicator& communicator, SendMode mode, bool can_be_cancelled) {
  Request* const request = take_request(communicator);
  request->peer = dest;
  request->has_handle = can_be_cancelled;
  try {
    if (!post_message(*request, buffer, count, type, dest, tag, communicator.context, mode)) return request;
  } catch (...) {
    give_request(request);
    throw;
  }
  if (is_checked) [[unlikely]] {  // how the program uses its buffer, until it waits for the request
    request->state.store(Request::kDone, std::memory_order_release);
    return request;
  }
  give_request(request);
  return nullptr;
}

/// Posts any send. Returns its request; nullptr when it has ended.
inline Request* post(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
                     Communicator& communicator, SendMode mode, bool can_be_cancelled) {
  if (!is_checked && type.is_dense(count) && (mode == SendMode::standard || mode == SendMode::ready))
      [[likely]]
    return post_block(buffer, count, type, dest, tag, communicator, can_be_cancelled);
  return post_other(buffer, count, type, dest, tag, communicator, mode, can_be_cancelled);
}

void blocking_send(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
                   Communicator& communicator, SendMode mode) {
  check_send(buffer, count, type, dest, tag, communicator);
  if (dest == MPI_PROC_NULL) return;
  Request* const request = post(buffer, count, type, dest, tag, communicator, mode, false);
  if (request == nullptr) return;
  wait_done(*request);
  const MPI_Status status = request->status;
  const std::shared_ptr<Communicator> failed =
      status.MPI_ERROR != MPI_SUCCESS ? keep(&communicator) : nullptr;
  give_request(request);
  if (failed != nullptr) [[unlikely]]
    fail_with(failed.get(), status);
}

void immediate_send(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
                    Communicator& communicator, SendMode mode, MPI_Request* handle) {
  check_send(buffer, count, type, dest, tag, communicator);
  Request* request = nullptr;
  if (dest != MPI_PROC_NULL) request = post(buffer, count, type, dest, tag, communicator, mode, true);
  *handle = handle_of<MPI_Request>(request != nullptr ? request : &ended_send);
}

void persistent_send(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
                     Communicator& communicator, SendMode mode, MPI_Request* handle) {
  check_send(buffer, count, type, dest, tag, communicator);
  Request* const request = take_request(communicator);
  request->is_persistent = true;
  request->is_active = false;
  request->what = Request::What::send;
  request->mode = mode;
  request->buffer = const_cast<void*>(buffer);
  request->count = count;
  request->type = retain(&type);
  request->peer = dest;
  request->tag = tag;
  request->context = communicator.context;
  request->status = empty_status();
  *handle = handle_of<MPI_Request>(request);
}

}  // namespace

void send(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
          Communicator& communicator) {
  blocking_send(buffer, count, type, dest, tag, communicator, SendMode::standard);
}
void bsend(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
           Communicator& communicator) {
  blocking_send(buffer, count, type, dest, tag, communicator, SendMode::buffered);
}
void ssend(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
           Communicator& communicator) {
  blocking_send(buffer, count, type, dest, tag, communicator, SendMode::synchronous);
}
void rsend(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
           Communicator& communicator) {
  blocking_send(buffer, count, type, dest, tag, communicator, SendMode::ready);
}
void isend(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag, Communicator& communicator,
           MPI_Request* request) {
  immediate_send(buffer, count, type, dest, tag, communicator, SendMode::standard, request);
}
void ibsend(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
            Communicator& communicator, MPI_Request* request) {
  immediate_send(buffer, count, type, dest, tag, communicator, SendMode::buffered, request);
}
void issend(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
            Communicator& communicator, MPI_Request* request) {
  immediate_send(buffer, count, type, dest, tag, communicator, SendMode::synchronous, request);
}
void irsend(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
            Communicator& communicator, MPI_Request* request) {
  immediate_send(buffer, count, type, dest, tag, communicator, SendMode::ready, request);
}
void send_init(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
               Communicator& communicator, MPI_Request* request) {
  persistent_send(buffer, count, type, dest, tag, communicator, SendMode::standard, request);
}
void bsend_init(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
                Communicator& communicator, MPI_Request* request) {
  persistent_send(buffer, count, type, dest, tag, communicator, SendMode::buffered, request);
}
void ssend_init(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
                Communicator& communicator, MPI_Request* request) {
  persistent_send(buffer, count, type, dest, tag, communicator, SendMode::synchronous, request);
}
void rsend_init(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
                Communicator& communicator, MPI_Request* request) {
  persistent_send(buffer, count, type, dest, tag, communicator, SendMode::ready, request);
}

}  // namespace weft::mpi
