#include "bindings/mpi/collectives/exchange.hpp"
#include "bindings/mpi/communicators/fail_on.hpp"

namespace weft::mpi {

namespace {

/// All 32 bits are the collective's: bit 31 is set where communicators are made.
int tag_of(const Channel& channel, int offset) noexcept {
  return static_cast<int>(static_cast<std::uint32_t>(channel.tag) + static_cast<std::uint32_t>(offset));
}

/// How a message has ended; MPI_ERR_COUNT where it was shorter than the buffer for it.
int error_of(const Request& request) noexcept {
  const int error = request.status.MPI_ERROR;
  if (request.what != Request::What::receive || bytes_in(request.status) == request.expected) return error;
  return error == MPI_SUCCESS || error == MPI_ERR_TYPE ? MPI_ERR_COUNT : error;
}

}  // namespace

void Exchange::send(const void* buffer, MPI_Count count, Datatype& type, int to, int tag_offset) {
  if (to == MPI_PROC_NULL || has_told()) return;
  const int tag = tag_of(channel_, tag_offset);
  Request* const request = take_request(channel_.communicator);
  request->owner = this;
  pending_.fetch_add(1, std::memory_order_relaxed);
  if (!post_message(*request, buffer, count, type, to, tag, channel_.context, SendMode::standard)) return;
  give_request(request);
  pending_.fetch_sub(1, std::memory_order_relaxed);  // never the last one: the coroutine counts, too
}

void Exchange::receive(void* buffer, MPI_Count count, Datatype& type, int from, int tag_offset) {
  if (from == MPI_PROC_NULL || has_told()) return;
  Request* const request = take_request(channel_.communicator);
  request->owner = this;
  request->expected = count * type.size;
  pending_.fetch_add(1, std::memory_order_relaxed);
  post_buffer(*request, buffer, count, type, from, tag_of(channel_, tag_offset), channel_.context, false);
}

void Exchange::copy(const Datatype& from_type, MPI_Count from_count, const void* from,
                    const Datatype& to_type, MPI_Count to_count, void* to) {
  const MPI_Count sent = from_count * from_type.size, room = to_count * to_type.size;
  copy_elements(from_type, from_count, from, to_type, to_count, to);
  if (sent != room) [[unlikely]]
    note(sent > room ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT);
}

void Exchange::finish(Request& request) noexcept {
  if (const int error = error_of(request); error != MPI_SUCCESS) [[unlikely]]
    note(error);
  give_request(&request);
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) waiting_.resume();
}

void Exchange::await_resume() {
  pending_.store(1, std::memory_order_relaxed);
  check();
}

void Exchange::note(int error) noexcept {
  int none = MPI_SUCCESS;
  if (error_.compare_exchange_strong(none, error, std::memory_order_relaxed)) tell_of_failure(channel_);
}

void Exchange::fail() const {
  take_what_still_comes(channel_);
  const int error = error_.load(std::memory_order_relaxed);
  if (error == MPI_ERR_TRUNCATE)
    fail_on(
        &channel_.communicator, error,
        "a message is longer than the buffer for it: its sender has failed in this collective, or the ranks "
        "have passed different counts");
  if (error == MPI_ERR_COUNT)
    fail_on(&channel_.communicator, error,
            "a message is shorter than the buffer for it: its sender has failed in this collective, or the "
            "ranks have passed different counts");
  fail_on(&channel_.communicator, error, "a member has ended or left the job");
}

}  // namespace weft::mpi
