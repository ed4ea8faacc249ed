// Buffers that programs attach for buffered sends.
#include "bindings/mpi/buffers/buffers_calls.hpp"
#include "bindings/mpi/requests/send_buffer.hpp"

namespace weft::mpi {

namespace {

void attach(SendBuffer& buffer, void* address, MPI_Count size) {
  if (buffer.is_attached) fail(MPI_ERR_BUFFER, "a buffer is attached already; MPI_..._detach comes first");
  buffer.address = address;
  buffer.size = size;
  buffer.is_attached = true;
}

void detach(SendBuffer& buffer, void* address, CountResult size) {
  if (!buffer.is_attached) fail(MPI_ERR_BUFFER, "no buffer is attached");
  flush(buffer);
  *static_cast<void**>(address) = buffer.address;
  size = buffer.size;
  buffer.is_attached = false;
}

SendBuffer& buffer_of(Communicator& communicator) {
  if (communicator.send_buffer == nullptr) fail(MPI_ERR_BUFFER, "no buffer is attached to the communicator");
  return *communicator.send_buffer;
}

/// A request that ends when all messages of the buffer have left.
MPI_Request flushed(SendBuffer& buffer) {
  world->endpoint.progress();
  Request* const request = take_request(*communicator_world);
  request->what = Request::What::work;
  request->status = empty_status();
  const std::lock_guard lock(flush_mutex);
  if (buffer.used.load(std::memory_order_acquire) == 0) {
    give_request(request);
    return handle_of<MPI_Request>(&ended_send);
  }
  buffer.flushes.push_back(request);
  return handle_of<MPI_Request>(request);
}

}  // namespace

void buffer_attach(void* buffer, MPI_Count size) { attach(process_buffer, buffer, size); }
void buffer_detach(void* buffer, CountResult size) { detach(process_buffer, buffer, size); }
void buffer_flush() { flush(process_buffer); }
void buffer_iflush(MPI_Request* request) { *request = flushed(process_buffer); }

void comm_attach_buffer(Communicator& communicator, void* buffer, MPI_Count size) {
  if (communicator.send_buffer == nullptr) communicator.send_buffer = new SendBuffer;
  attach(*communicator.send_buffer, buffer, size);
}
void comm_detach_buffer(Communicator& communicator, void* buffer, CountResult size) {
  detach(buffer_of(communicator), buffer, size);
  delete communicator.send_buffer;
  communicator.send_buffer = nullptr;
}
void comm_flush_buffer(Communicator& communicator) {
  if (communicator.send_buffer != nullptr) flush(*communicator.send_buffer);
}
void comm_iflush_buffer(Communicator& communicator, MPI_Request* request) {
  *request = communicator.send_buffer != nullptr ? flushed(*communicator.send_buffer)
                                                 : handle_of<MPI_Request>(&ended_send);
}

}  // namespace weft::mpi
