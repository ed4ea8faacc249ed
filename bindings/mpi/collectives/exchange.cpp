#include "bindings/mpi/collectives/exchange.hpp"
#include "bindings/mpi/communicators/fail_on.hpp"

namespace weft::mpi {

namespace {

/// All 32 bits are the collective's: bit 31 is set where communicators are made.
int tag_of(const Channel& channel, int offset) noexcept {
  return static_cast<int>(static_cast<std::uint32_t>(channel.tag) + static_cast<std::uint32_t>(offset));
}

}  // namespace

void Exchange::send(const void* buffer, MPI_Count count, Datatype& type, int to, int tag_offset) {
  if (to == MPI_PROC_NULL) return;
  const int tag = tag_of(channel_, tag_offset);
  Request* const request = take_request(channel_.communicator);
  request->owner = this;
  pending_.fetch_add(1, std::memory_order_relaxed);
  if (!post_message(*request, buffer, count, type, to, tag, channel_.context, SendMode::standard)) return;
  give_request(request);
  pending_.fetch_sub(1, std::memory_order_relaxed);  // never the last one: the coroutine counts, too
}

void Exchange::receive(void* buffer, MPI_Count count, Datatype& type, int from, int tag_offset) {
  if (from == MPI_PROC_NULL) return;
  Request* const request = take_request(channel_.communicator);
  request->owner = this;
  pending_.fetch_add(1, std::memory_order_relaxed);
  post_buffer(*request, buffer, count, type, from, tag_of(channel_, tag_offset), channel_.context, false);
}

void Exchange::finish(Request& request) noexcept {
  if (request.status.MPI_ERROR != MPI_SUCCESS)
    error_.store(request.status.MPI_ERROR, std::memory_order_relaxed);
  else if (request.what == Request::What::receive)
    brought_ = bytes_in(request.status);
  give_request(&request);
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) waiting_.resume();
}

void Exchange::await_resume() {
  pending_.store(1, std::memory_order_relaxed);
  check();
}

bool Exchange::has_brought(MPI_Count bytes) const {
  if (error_.load(std::memory_order_relaxed) == MPI_ERR_TRUNCATE) return false;
  check();
  return brought_ == bytes;
}

void Exchange::check() const {
  const int error = error_.load(std::memory_order_relaxed);
  if (error == MPI_ERR_TRUNCATE)
    fail_on(
        &channel_.communicator, error,
        "a message of another rank is longer than the buffer for it: the ranks have passed different counts");
  if (error != MPI_SUCCESS) fail_on(&channel_.communicator, error, "a member has ended or left the job");
}

}  // namespace weft::mpi
