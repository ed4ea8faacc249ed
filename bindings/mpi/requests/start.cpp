#include "bindings/mpi/requests/start.hpp"

#include "bindings/mpi/datatypes/pack.hpp"
#include "bindings/mpi/objects/blocks.hpp"
#include "bindings/mpi/requests/send_buffer.hpp"
#include "bindings/mpi/transport/matching.hpp"

#include <span>
#include <utility>

namespace weft::mpi {

namespace {

/// Holds the datatype for as long as the request needs it.
void hold(Request& request, Datatype& type) noexcept {
  if (request.type == &type) return;
  if (request.type != nullptr) release(request.type);
  request.type = retain(&type);
}

/// Where elements lie that are not one block in memory: few pieces, which travel without being packed.
class Pieces {
 public:
  Pieces(const Datatype& type, MPI_Count count, const void* buffer) noexcept {
    if (type.size * count < kWorthAList) return;
    count_ = pieces_of(type, count, buffer, pieces_);
    if (static_cast<MPI_Count>(count_) * kShortest > type.size * count) count_ = 0;
  }
  [[nodiscard]] bool is_empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::span<const MutableBytes> to_fill() const noexcept { return {pieces_, count_}; }
  [[nodiscard]] std::span<const Bytes> to_read() noexcept {
    for (std::size_t index = 0; index < count_; ++index) read_[index] = pieces_[index];
    return {read_, count_};
  }

 private:
  static constexpr std::size_t kMost = 64;
  static constexpr MPI_Count kShortest = 512, kWorthAList = 2048;  // bytes
  MutableBytes pieces_[kMost];
  Bytes read_[kMost];
  std::size_t count_ = 0;
};

template <class Payload>
bool post_payload(Request& request, int peer, int tag, std::uint32_t context, const Payload& payload,
                  SendMode mode) {
  const int world_peer = request.communicator->peer(peer);
  SendHandle* const handle = request.has_handle ? &request.send_handle : nullptr;
  if (mode == SendMode::synchronous) [[unlikely]] {
    post_synchronous_send(world_peer, context, tag, payload, request_signals(), &request, handle);
    return false;
  }
  return post_send(world_peer, context, tag, payload, request_signals(), &request, handle);
}

[[gnu::noinline]] bool post_scattered_message(Request& request, const void* buffer, MPI_Count count,
                                              Datatype& type, int peer, int tag, std::uint32_t context,
                                              SendMode mode) {
  Pieces pieces(type, count, buffer);
  if (!pieces.is_empty()) return post_payload(request, peer, tag, context, pieces.to_read(), mode);
  const MPI_Count bytes = type.size * count;
  request.staging = allocate_block(bytes);
  pack_elements(type, count, buffer, request.staging);
  if (!post_payload(request, peer, tag, context, Bytes(request.staging, static_cast<std::size_t>(bytes)),
                    mode))
    return false;
  free_block(std::exchange(request.staging, nullptr));
  return true;
}

[[gnu::noinline]] void post_scattered_buffer(Request& request, void* buffer, MPI_Count count, Datatype& type,
                                             int source, int tag, std::uint32_t context,
                                             ReceiveHandle* handle) {
  const MPI_Count bytes = type.size * count;
  const Pieces pieces(type, count, buffer);
  if (!pieces.is_empty()) {
    request.scattered_room = bytes;
    if (post_scattered_receive(source, context, tag, pieces.to_fill(), request_signals(), &request, handle))
      return;
    request.scattered_room = 0;
  }
  hold(request, type);
  request.buffer = buffer;
  request.count = count;
  request.staging = allocate_block(bytes);
  post_receive(source, context, tag, {request.staging, static_cast<std::size_t>(bytes)}, request_signals(),
               &request, handle);
}

[[gnu::cold, gnu::noinline]] bool post_checked_message(Request& request, const void* buffer, MPI_Count count,
                                                       Datatype& type, int peer, int tag,
                                                       std::uint32_t context, SendMode mode) {
  const Bytes whole = start_checked(request, buffer, count, type);
  if (mode == SendMode::ready) mark_ready(request.staging);
  if (!post_payload(request, peer, tag, context, whole, mode)) return false;
  free_block(std::exchange(request.staging, nullptr));
  return true;
}

[[gnu::cold, gnu::noinline]] void post_checked_buffer(Request& request, void* buffer, MPI_Count count,
                                                      Datatype& type, int source, int tag,
                                                      std::uint32_t context, ReceiveHandle* handle) {
  const std::span<std::byte> whole = start_checked(request, buffer, count, type);
  ProbedMessage found;
  request.checked->has_come_before = probe(source, context, tag, found);
  post_receive(source, context, tag, whole, request_signals(), &request, handle);
}

}  // namespace

bool post_message(Request& request, const void* buffer, MPI_Count count, Datatype& type, int peer, int tag,
                  std::uint32_t context, SendMode mode) {
  request.what = Request::What::send;
  request.peer = peer;
  request.tag = tag;
  request.status = empty_status();
  if (mode == SendMode::buffered) {
    post_buffered(request, buffer, count, type, peer, tag, context);
    return true;
  }
  if (has_header(context)) [[unlikely]]
    return post_checked_message(request, buffer, count, type, peer, tag, context, mode);
  if (!type.is_dense(count)) [[unlikely]]
    return post_scattered_message(request, buffer, count, type, peer, tag, context, mode);
  return post_payload(request, peer, tag, context,
                      Bytes(shifted(buffer, type.true_lb), static_cast<std::size_t>(type.size * count)),
                      mode);
}

void post_buffer(Request& request, void* buffer, MPI_Count count, Datatype& type, int peer, int tag,
                 std::uint32_t context, bool can_be_cancelled) {
  request.what = Request::What::receive;
  request.peer = peer;
  request.tag = tag;
  request.has_handle = can_be_cancelled;
  const int source = peer == MPI_ANY_SOURCE ? MPI_ANY_SOURCE : request.communicator->peer(peer);
  ReceiveHandle* const handle = can_be_cancelled ? &request.handle : nullptr;
  if (has_header(context)) [[unlikely]]
    return post_checked_buffer(request, buffer, count, type, source, tag, context, handle);
  if (!type.is_dense(count)) [[unlikely]]
    return post_scattered_buffer(request, buffer, count, type, source, tag, context, handle);
  post_receive(source, context, tag,
               {shifted(buffer, type.true_lb), static_cast<std::size_t>(type.size * count)},
               request_signals(), &request, handle);
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
  request.has_handle = true;
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
