// Buffers that programs attach for buffered sends: to the process, a communicator, or a session.
#include "bindings/mpi/buffers/buffers_calls.hpp"
#include "bindings/mpi/requests/send_buffer.hpp"

namespace weft::mpi {

namespace {

using Attached = std::shared_ptr<SendBuffer>;

void attach(SendBuffer& buffer, void* address, MPI_Count size) {
  if (buffer.is_attached) fail(MPI_ERR_BUFFER, "a buffer is attached already; MPI_..._detach comes first");
  if (address == nullptr && size > 0)
    fail(MPI_ERR_BUFFER,
         "argument 'buffer' is a null pointer; %lld bytes, or MPI_BUFFER_AUTOMATIC, are needed",
         static_cast<long long>(size));
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

void attach_to(Attached& owner, void* address, MPI_Count size) {
  if (owner == nullptr) owner = std::make_shared<SendBuffer>();
  attach(*owner, address, size);
}
void detach_from(Attached& owner, void* address, CountResult size) {
  if (owner == nullptr) fail(MPI_ERR_BUFFER, "no buffer is attached");
  detach(*owner, address, size);
  owner = nullptr;
}
void flush_of(const Attached& owner) {
  if (owner != nullptr) flush(*owner);
}

/// A request that ends when all messages of the buffer have left.
MPI_Request flushed(const Attached& buffer) {
  if (buffer == nullptr) return handle_of<MPI_Request>(&ended_send);
  world->endpoint.progress();
  Request* const request = take_request(*communicator_world);
  request->what = Request::What::work;
  request->status = empty_status();
  const std::lock_guard lock(flush_mutex);
  if (buffer->used.load(std::memory_order_acquire) == 0) {
    give_request(request);
    return handle_of<MPI_Request>(&ended_send);
  }
  buffer->flushes.push_back(request);
  return handle_of<MPI_Request>(request);
}

}  // namespace

void buffer_attach(void* buffer, MPI_Count size) { attach(*process_buffer, buffer, size); }
void buffer_detach(void* buffer, CountResult size) { detach(*process_buffer, buffer, size); }
void buffer_flush() { flush(*process_buffer); }
void buffer_iflush(MPI_Request* request) { *request = flushed(process_buffer); }

void comm_attach_buffer(Communicator& communicator, void* buffer, MPI_Count size) {
  attach_to(communicator.send_buffer, buffer, size);
}
void comm_detach_buffer(Communicator& communicator, void* buffer, CountResult size) {
  detach_from(communicator.send_buffer, buffer, size);
}
void comm_flush_buffer(Communicator& communicator) { flush_of(communicator.send_buffer); }
void comm_iflush_buffer(Communicator& communicator, MPI_Request* request) {
  *request = flushed(communicator.send_buffer);
}

void session_attach_buffer(Session& session, void* buffer, MPI_Count size) {
  attach_to(session.send_buffer, buffer, size);
}
void session_detach_buffer(Session& session, void* buffer, CountResult size) {
  detach_from(session.send_buffer, buffer, size);
}
void session_flush_buffer(Session& session) { flush_of(session.send_buffer); }
void session_iflush_buffer(Session& session, MPI_Request* request) {
  *request = flushed(session.send_buffer);
}

}  // namespace weft::mpi
