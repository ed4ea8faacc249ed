#include "bindings/mpi/requests/start.hpp"

#include "bindings/mpi/datatypes/pack.hpp"
#include "bindings/mpi/requests/send_buffer.hpp"
#include "bindings/mpi/transport/matching.hpp"

#include <cstdlib>
#include <new>

namespace weft::mpi {

namespace {

std::byte* allocated(MPI_Count bytes) {
  auto* const memory = static_cast<std::byte*>(std::malloc(static_cast<std::size_t>(bytes > 0 ? bytes : 1)));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

/// Holds the datatype for as long as the request needs it.
void hold(Request& request, Datatype& type) noexcept {
  if (request.type == &type) return;
  if (request.type != nullptr) release(request.type);
  request.type = retain(&type);
}

}  // namespace

bool post_message(Request& request, const void* buffer, MPI_Count count, Datatype& type, int peer, int tag,
                  std::uint32_t context, SendMode mode) {
  const MPI_Count bytes = type.size * count;
  request.what = Request::What::send;
  request.status = empty_status();
  const std::byte* data = shifted(buffer, type.true_lb);
  if (mode == SendMode::buffered) {
    post_buffered(request, buffer, count, type, peer, tag, context);
    return true;
  }
  if (!type.is_dense(count)) [[unlikely]] {
    request.staging = allocated(bytes);
    pack_elements(type, count, buffer, request.staging);
    data = request.staging;
  }
  const int world_peer = request.communicator->peer(peer);
  if (mode == SendMode::synchronous) [[unlikely]] {
    post_synchronous_send(world_peer, context, tag, {data, static_cast<std::size_t>(bytes)},
                          request_signals(), &request);
    return false;
  }
  const bool has_ended = post_send(world_peer, context, tag, {data, static_cast<std::size_t>(bytes)},
                                   request_signals(), &request);
  if (has_ended && request.staging != nullptr) std::free(std::exchange(request.staging, nullptr));
  return has_ended;
}

void post_buffer(Request& request, void* buffer, MPI_Count count, Datatype& type, int peer, int tag,
                 std::uint32_t context, bool can_be_cancelled) {
  const MPI_Count bytes = type.size * count;
  request.what = Request::What::receive;
  request.peer = peer;
  std::byte* data = shifted(buffer, type.true_lb);
  if (!type.is_dense(count)) [[unlikely]] {
    hold(request, type);
    request.buffer = buffer;
    request.count = count;
    request.staging = allocated(bytes);
    data = request.staging;
  }
  request.has_handle = can_be_cancelled;
  post_receive(peer == MPI_ANY_SOURCE ? MPI_ANY_SOURCE : request.communicator->peer(peer), context, tag,
               {data, static_cast<std::size_t>(bytes)}, request_signals(), &request,
               can_be_cancelled ? &request.handle : nullptr);
}

void start_persistent(Request& request) {
  request.state.store(Request::kPending, std::memory_order_relaxed);
  request.is_active = true;
  if (request.work != nullptr) {
    request.work->start(request);
    return;
  }
  if (request.peer == MPI_PROC_NULL) {
    request.status = request.what == Request::What::receive ? status_of_no_process() : empty_status();
    request.state.store(Request::kDone, std::memory_order_relaxed);
    return;
  }
  if (request.what == Request::What::receive) {
    post_buffer(request, request.buffer, request.count, *request.type, request.peer, request.tag,
                request.context, true);
    return;
  }
  try {
    if (post_message(request, request.buffer, request.count, *request.type, request.peer, request.tag,
                     request.context, request.mode))
      request.state.store(Request::kDone, std::memory_order_relaxed);
  } catch (...) {  // a full buffer: the request may be started again
    request.is_active = false;
    throw;
  }
}

}  // namespace weft::mpi
