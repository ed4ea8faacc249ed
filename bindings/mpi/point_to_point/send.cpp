// Sends in all modes: blocking, immediate and persistent.
#include "bindings/mpi/point_to_point/checks.hpp"
#include "bindings/mpi/point_to_point/point_to_point_calls.hpp"
#include "bindings/mpi/requests/start.hpp"

namespace weft::mpi {

namespace {

void blocking_send(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
                   Communicator& communicator, SendMode mode) {
  check_send(buffer, count, type, dest, tag, communicator);
  if (dest == MPI_PROC_NULL) return;
  Request* const request = take_request(communicator);
  if (!post_message(*request, buffer, count, type, dest, tag, communicator.context, mode)) {
    wait_done(*request);
    if (request->status.MPI_ERROR != MPI_SUCCESS) [[unlikely]] {
      const MPI_Status status = request->status;
      give_request(request);
      fail_with(&communicator, status);
    }
  }
  give_request(request);
}

void immediate_send(const void* buffer, MPI_Count count, Datatype& type, int dest, int tag,
                    Communicator& communicator, SendMode mode, MPI_Request* handle) {
  check_send(buffer, count, type, dest, tag, communicator);
  if (dest != MPI_PROC_NULL) {
    Request* const request = take_request(communicator);
    request->has_handle = true;
    request->peer = dest;
    if (!post_message(*request, buffer, count, type, dest, tag, communicator.context, mode)) {
      *handle = handle_of<MPI_Request>(request);
      return;
    }
    give_request(request);
  }
  *handle = handle_of<MPI_Request>(&ended_send);
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
