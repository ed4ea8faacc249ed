#include "bindings/mpi/partitioned/partitions.hpp"

namespace weft::mpi {

namespace {

/// The first message, until it has left.
struct HeaderOnItsWay final : RequestOwner {
  explicit HeaderOnItsWay(const PartitionedHeader& what) noexcept : header(what) {}
  void finish(Request& request) noexcept override {
    give_request(&request);
    delete this;
  }
  const PartitionedHeader header;
};

}  // namespace

std::uint32_t new_partitioned_context() noexcept {
  static std::atomic<std::uint32_t> given{0};
  return given.fetch_add(1, std::memory_order_relaxed) << 2 | kPartitionedContext;
}

PartitionedSend::PartitionedSend(Request& request, const Partitioning& what)
    : whole_(request),
      what_(what),
      context_(what.peer == MPI_PROC_NULL ? 0 : new_partitioned_context()),
      is_ready_(std::make_unique<std::atomic<bool>[]>(static_cast<std::size_t>(what.partitions))) {
  if (what.peer == MPI_PROC_NULL) return;
  Communicator& communicator = *request.communicator;
  auto* const header = new HeaderOnItsWay({context_, what.partitions, what.bytes()});
  Request* const first = take_request(communicator);
  first->owner = header;
  if (post_message(*first, &header->header, sizeof header->header, byte_type, what.peer, header_tag(what.tag),
                   communicator.context | 2, SendMode::standard))
    header->finish(*first);
}

void PartitionedSend::start(Request&) {
  for (int partition = 0; partition < what_.partitions; ++partition)
    is_ready_[static_cast<std::size_t>(partition)].store(false, std::memory_order_relaxed);
  error_.store(MPI_SUCCESS, std::memory_order_relaxed);
  whole_.status = empty_status();
  pending_.store(what_.partitions + 1, std::memory_order_release);
  end_one();
}

void PartitionedSend::make_ready(int partition) {
  if (!whole_.is_active) fail(MPI_ERR_REQUEST, "the request has not been started");
  if (partition < 0 || partition >= what_.partitions)
    fail(MPI_ERR_ARG, "partition %d; 0 to %d are there", partition, what_.partitions - 1);
  if (is_ready_[static_cast<std::size_t>(partition)].exchange(true, std::memory_order_acq_rel))
    fail(MPI_ERR_ARG, "partition %d is ready already", partition);
  if (what_.peer == MPI_PROC_NULL) return end_one();
  Request* const part = take_request(*whole_.communicator);
  part->owner = this;
  const void* const from = shifted(what_.buffer, what_.count * what_.type->extent * partition);
  if (post_message(*part, from, what_.count, what_.type, what_.peer, partition, context_, SendMode::standard))
    finish(*part);
}

void PartitionedSend::finish(Request& part) noexcept {
  if (part.status.MPI_ERROR != MPI_SUCCESS)
    error_.store(part.status.MPI_ERROR, std::memory_order_relaxed);  // made visible by the count below
  give_request(&part);
  end_one();
}

void PartitionedSend::end_one() noexcept {
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  whole_.status.MPI_ERROR = error_.load(std::memory_order_relaxed);
  request_signals().complete(whole_);
}

}  // namespace weft::mpi
