#include "bindings/mpi/requests/send_buffer.hpp"

#include "bindings/mpi/communicators/fail_on.hpp"
#include "bindings/mpi/datatypes/pack.hpp"
#include "bindings/mpi/objects/blocks.hpp"
#include "bindings/mpi/transport/matching.hpp"

#include <utility>

namespace weft::mpi {

const std::shared_ptr<SendBuffer> process_buffer = std::make_shared<SendBuffer>();
std::mutex flush_mutex;

namespace {

/// Ends the flushes of a buffer that is empty then.
void give_back(SendBuffer& buffer, MPI_Count bytes) noexcept {
  std::vector<Request*> ended;
  {
    const std::lock_guard lock(flush_mutex);
    if (buffer.used.fetch_sub(bytes, std::memory_order_acq_rel) == bytes) ended.swap(buffer.flushes);
  }
  for (Request* const each : ended) request_signals().complete(*each);
}

/// Gives room back when a copy has left.
struct BufferedSend final : RequestOwner {
  BufferedSend(std::shared_ptr<SendBuffer> from, MPI_Count room) noexcept
      : buffer(std::move(from)), bytes(room) {}
  void finish(Request& request) noexcept override {
    give_request(&request);
    give_back(*buffer, bytes);
    delete this;
  }
  const std::shared_ptr<SendBuffer> buffer;  // the communicator may have been freed
  MPI_Count bytes;
};

const std::shared_ptr<SendBuffer>& buffer_for(const Communicator& communicator) noexcept {
  if (communicator.send_buffer != nullptr) return communicator.send_buffer;
  const Session* const session = communicator.local->session;
  return session != nullptr && session->send_buffer != nullptr ? session->send_buffer : process_buffer;
}

/// What a message counts for beside its bytes. MPI_BSEND_OVERHEAD is what the ABI has programs leave room
/// for; those that leave none have mostly been written where a message took no more than this.
constexpr MPI_Count kBesideBytes = 96;
static_assert(kBesideBytes <= MPI_BSEND_OVERHEAD);

/// Whether there is room for it; takes none otherwise, in which another thread may find room meanwhile.
bool take_room(SendBuffer& buffer, MPI_Count bytes) noexcept {
  const bool is_unbounded = buffer.address == MPI_BUFFER_AUTOMATIC;
  MPI_Count used = buffer.used.load(std::memory_order_relaxed);
  do {
    if (!is_unbounded && used + bytes > buffer.size) return false;
  } while (!buffer.used.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

}  // namespace

void post_buffered(Request& request, const void* data, MPI_Count count, Datatype& type, int peer, int tag,
                   std::uint32_t context) {
  Communicator& communicator = *request.communicator;
  const std::shared_ptr<SendBuffer>& shared = buffer_for(communicator);
  SendBuffer& buffer = *shared;
  const MPI_Count bytes = type.size * count, needed = bytes + kBesideBytes;
  if (!buffer.is_attached)
    fail_on(&communicator, MPI_ERR_BUFFER, "no buffer is attached for buffered sends (MPI_Buffer_attach)");
  if (!take_room(buffer, needed)) {
    world->endpoint.progress();
    if (!take_room(buffer, needed))
      fail_on(&communicator, MPI_ERR_BUFFER,
              "a message of %lld bytes does not fit the attached buffer of %lld, of which %lld are in use",
              static_cast<long long>(bytes), static_cast<long long>(buffer.size),
              static_cast<long long>(buffer.used.load(std::memory_order_relaxed)));
  }
  Request* const copy = take_request(communicator);
  copy->what = Request::What::send;
  auto travelling = static_cast<std::size_t>(bytes);
  if (has_header(context)) [[unlikely]] {
    copy->staging = with_header(data, count, type);
    travelling += kHeaderBytes;
  } else {
    copy->staging = allocate_block(bytes);
    pack_elements(type, count, data, copy->staging);
  }
  copy->owner = new BufferedSend(shared, needed);
  if (post_send(communicator.peer(peer), context, tag, Bytes(copy->staging, travelling), request_signals(),
                copy))
    copy->owner->finish(*copy);
}

void flush(SendBuffer& buffer) noexcept {
  world->endpoint.wait_until([&] { return buffer.used.load(std::memory_order_acquire) == 0; });
  const std::lock_guard lock(flush_mutex);  // who gave the last room back is done with the buffer
}

}  // namespace weft::mpi
