// Receives: blocking, immediate and persistent.
#include "bindings/mpi/communicators/fail_on.hpp"
#include "bindings/mpi/point_to_point/checks.hpp"
#include "bindings/mpi/point_to_point/point_to_point_calls.hpp"
#include "bindings/mpi/point_to_point/wait_for_request.hpp"
#include "bindings/mpi/requests/start.hpp"

namespace weft::mpi {

void store_status(MPI_Status* to, const MPI_Status& status) noexcept {
  if (to == MPI_STATUS_IGNORE) return;
  const int error = to->MPI_ERROR;
  *to = status;
  to->MPI_ERROR = error;
}

void finish_receive(Request* request, MPI_Status* result) {
  wait_done(*request);
  const MPI_Status status = request->status;
  const std::shared_ptr<Communicator> communicator =
      status.MPI_ERROR != MPI_SUCCESS ? keep(request->communicator) : nullptr;
  give_request(request);
  store_status(result, status);
  if (communicator != nullptr) [[unlikely]]
    fail_with(communicator.get(), status);
}

void recv(void* buffer, MPI_Count count, Datatype& type, int source, int tag, Communicator& communicator,
          MPI_Status* status) {
  check_receive(buffer, count, type, source, tag, communicator);
  if (source == MPI_PROC_NULL) return store_status(status, status_of_no_process());
  Request* const request = take_request(communicator);
  post_buffer(*request, buffer, count, type, source, tag, communicator.context, false);
  finish_receive(request, status);
}

void irecv(void* buffer, MPI_Count count, Datatype& type, int source, int tag, Communicator& communicator,
           MPI_Request* handle) {
  check_receive(buffer, count, type, source, tag, communicator);
  if (source == MPI_PROC_NULL) {
    *handle = handle_of<MPI_Request>(&ended_receive_of_no_process);
    return;
  }
  Request* const request = take_request(communicator);
  *handle = handle_of<MPI_Request>(request);
  post_buffer(*request, buffer, count, type, source, tag, communicator.context, true);
}

void recv_init(void* buffer, MPI_Count count, Datatype& type, int source, int tag, Communicator& communicator,
               MPI_Request* handle) {
  check_receive(buffer, count, type, source, tag, communicator);
  Request* const request = take_request(communicator);
  request->is_persistent = true;
  request->is_active = false;
  request->what = Request::What::receive;
  request->buffer = buffer;
  request->count = count;
  request->type = retain(&type);
  request->peer = source;
  request->tag = tag;
  request->context = communicator.context;
  request->status = empty_status();
  *handle = handle_of<MPI_Request>(request);
}

}  // namespace weft::mpi
