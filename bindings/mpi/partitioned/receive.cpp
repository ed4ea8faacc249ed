#include "bindings/mpi/datatypes/pack.hpp"
#include "bindings/mpi/partitioned/partitions.hpp"
#include "bindings/mpi/transport/matching.hpp"

#include <algorithm>
#include <mutex>
#include <set>

namespace weft::mpi {

namespace {

/// Those that outlive their requests.
struct AbandonedHeads {
  std::mutex mutex;
  std::set<PartitionedHead*> all;
};
AbandonedHeads& abandoned_heads() {
  static AbandonedHeads& heads = *new AbandonedHeads;
  return heads;
}

}  // namespace

PartitionedReceive::PartitionedReceive(Request& request, const Partitioning& what)
    : whole_(request), what_(what) {
  if (what.peer == MPI_PROC_NULL) return;
  Communicator& communicator = *request.communicator;
  head_ = new PartitionedHead;
  head_->receive = this;
  Request* const first = take_request(communicator);
  first->owner = head_;
  first->what = Request::What::receive;
  first->peer = what.peer;
  post_receive(communicator.peer(what.peer), communicator.context | 2, header_tag(what.tag),
               {reinterpret_cast<std::byte*>(&head_->header), sizeof head_->header}, request_signals(), first,
               &head_->handle);
}

PartitionedReceive::~PartitionedReceive() {
  if (head_ == nullptr) return;
  {
    const std::lock_guard lock(abandoned_heads().mutex);
    int state = PartitionedHead::kWaiting;
    if (head_->state.compare_exchange_strong(state, PartitionedHead::kAbandoned, std::memory_order_acq_rel)) {
      abandoned_heads().all.insert(head_);
      return;
    }
  }
  // A thread that the first message has just reached is about to say so.
  world->endpoint.wait_until(
      [&] { return head_->state.load(std::memory_order_acquire) == PartitionedHead::kEnded; });
  delete head_;
}

void PartitionedHead::finish(Request& request) noexcept {
  error = request.status.MPI_ERROR;
  if (error == MPI_SUCCESS && bytes_in(request.status) != sizeof header) error = MPI_ERR_INTERN;
  give_request(&request);
  if (state.exchange(kTelling, std::memory_order_acq_rel) == kAbandoned) {
    const std::lock_guard lock(abandoned_heads().mutex);
    abandoned_heads().all.erase(this);
    delete this;
    return;
  }
  // Where the request has been started it lasts until it is posted and done; else it, and this, may be gone
  // with the next line but one.
  PartitionedReceive* const own = receive;
  const bool is_second = own->met_.fetch_add(1, std::memory_order_acq_rel) == 1;
  state.store(kEnded, std::memory_order_release);
  if (is_second) own->post();
}

void end_abandoned_heads() noexcept {
  world->endpoint.wait_until([] {
    PartitionedHead* head = nullptr;
    {
      const std::lock_guard lock(abandoned_heads().mutex);
      if (abandoned_heads().all.empty()) return true;
      head = *abandoned_heads().all.begin();
    }
    static_cast<void>(world->endpoint.cancel(head->handle));
    return false;
  });
}

void PartitionedReceive::start(Request&) {
  error_.store(MPI_SUCCESS, std::memory_order_relaxed);
  whole_.status = what_.peer == MPI_PROC_NULL ? status_of_no_process() : empty_status();
  if (what_.peer == MPI_PROC_NULL) return request_signals().complete(whole_);
  if (met_.load(std::memory_order_acquire) >= 2 || met_.fetch_add(1, std::memory_order_acq_rel) == 1) post();
}

int PartitionedReceive::error_of_header() const noexcept {
  const PartitionedHeader& other = head_->header;
  MPI_Count sum = 0;
  if (head_->error != MPI_SUCCESS) return head_->error;
  if (other.partitions < 0 || other.bytes < 0 || __builtin_mul_overflow(other.bytes, other.partitions, &sum))
    return MPI_ERR_INTERN;
  return MPI_SUCCESS;
}

void PartitionedReceive::post() noexcept {
  const PartitionedHeader& other = head_->header;
  const int error = error_of_header();
  if (!is_bound_.load(std::memory_order_relaxed) && error == MPI_SUCCESS) {
    arrived_ = std::make_unique<std::atomic<bool>[]>(static_cast<std::size_t>(other.partitions));
    const bool cuts_elements = what_.type->size > 0 && other.bytes % what_.type->size != 0;
    if (!what_.type->is_dense(what_.count * what_.partitions) && cuts_elements && total() <= room())
      staging_ = std::make_unique<std::byte[]>(static_cast<std::size_t>(total()));
    is_bound_.store(true, std::memory_order_release);
  }
  if (error != MPI_SUCCESS) {
    whole_.status.MPI_ERROR = error;
    whole_.status.MPI_SOURCE = what_.peer;
    whole_.status.MPI_TAG = what_.tag;
    set_bytes(whole_.status, 0);
    return request_signals().complete(whole_);
  }
  for (int part = 0; part < other.partitions; ++part)
    arrived_[static_cast<std::size_t>(part)].store(false, std::memory_order_relaxed);
  pending_.store(other.partitions + 1, std::memory_order_release);
  Datatype& type = what_.type;
  const bool is_dense = type.is_dense(what_.count * what_.partitions);
  std::byte* const bytes = staging_ != nullptr ? staging_.get() : shifted(what_.buffer, type.true_lb);
  for (int part = 0; part < other.partitions; ++part) {
    Request* const request = take_request(*whole_.communicator);
    request->owner = this;
    const MPI_Count offset = other.bytes * part;
    if (total() > room())  // is taken nevertheless: the sender waits for that
      post_buffer(*request, nullptr, 0, byte_type, what_.peer, part, other.context, false);
    else if (is_dense || staging_ != nullptr || other.bytes == 0)
      post_buffer(*request, bytes + offset, other.bytes, byte_type, what_.peer, part, other.context, false);
    else
      post_buffer(*request, shifted(what_.buffer, offset / type.size * type.extent), other.bytes / type.size,
                  type, what_.peer, part, other.context, false);
  }
  end_one();
}

bool PartitionedReceive::has_arrived(int partition) {
  if (partition < 0 || partition >= what_.partitions)
    fail(MPI_ERR_ARG, "partition %d; 0 to %d are there", partition, what_.partitions - 1);
  if (!whole_.is_active || whole_.is_done()) return true;
  if (!is_bound_.load(std::memory_order_acquire) || staging_ != nullptr) return false;
  // Those of the sender that hold a part of it, also where all are empty: a share of partitions, or of bytes.
  const bool is_full = total() == room();
  const MPI_Count scale = is_full ? head_->header.partitions : what_.bytes();
  const MPI_Count divisor = is_full ? what_.partitions : head_->header.bytes;
  if (!is_full && (partition + 1) * scale > total()) return false;  // what is not sent comes with the rest
  if (divisor == 0) return false;
  const MPI_Count first = partition * scale / divisor, behind = (partition + 1) * scale;
  for (MPI_Count part = first; part * divisor < behind; ++part)
    if (!arrived_[static_cast<std::size_t>(part)].load(std::memory_order_acquire)) return false;
  return true;
}

void PartitionedReceive::finish(Request& part) noexcept {
  if (part.status.MPI_ERROR != MPI_SUCCESS)
    error_.store(part.status.MPI_ERROR, std::memory_order_relaxed);  // made visible by the count below
  else
    arrived_[static_cast<std::size_t>(part.status.MPI_TAG)].store(true, std::memory_order_release);
  give_request(&part);
  end_one();
}

void PartitionedReceive::end_one() noexcept {
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (staging_ != nullptr)
    unpack_elements(what_.type, what_.count * what_.partitions, staging_.get(), total(), what_.buffer);
  whole_.status.MPI_ERROR = total() > room() ? MPI_ERR_TRUNCATE : error_.load(std::memory_order_relaxed);
  whole_.status.MPI_SOURCE = what_.peer;
  whole_.status.MPI_TAG = what_.tag;
  set_bytes(whole_.status, std::min(total(), room()));
  request_signals().complete(whole_);
}

}  // namespace weft::mpi
