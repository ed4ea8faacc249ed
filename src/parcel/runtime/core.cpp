#include "parcel/runtime/core.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include <weft/parcel/detail/message_limits.hpp>

namespace weft::parcel::detail {

namespace {

// Beyond so many batches in its own deque a busy worker takes no more from the network, which then pushes
// back at the senders.
constexpr std::int64_t kMostBatches = 1024;

thread_local int calls_of_ports = 0;

RuntimeOptions with_own_texts(RuntimeOptions options, const std::string& name, const std::string& port) {
  options.text = {};
  options.name = name;
  options.port = port;
  return options;
}

}  // namespace

InsidePort::InsidePort(WorkerPool& pool) noexcept {
  ++calls_of_ports;
  pool.note_work();
}
InsidePort::~InsidePort() { --calls_of_ports; }
bool InsidePort::is_here() noexcept { return calls_of_ports != 0; }

Core::Core(Runtime& runtime, std::unique_ptr<Parcelport> port, const RuntimeOptions& options)
    : runtime_(runtime),
      name_(options.name),
      port_name_(options.port),
      options_(with_own_texts(options, name_, port_name_)),
      port_(std::move(port)),
      rank_(port_->rank()),
      size_(port_->size()),
      pool_(options.workers, options.stack, *this, &runtime, Stepper::installed()),
      lasting_(&LastingScheduler::take(pool_)),
      link_(std::make_shared<RuntimeLink>(runtime)),
      outbox_(
          *port_, options,
          [](void* core) {
            auto& self = *static_cast<Core*>(core);
            // Whoever waits for room takes what comes, however much: the other side may do the same.
            return self.communicate(self.pool_.slot(), true);
          },
          this),
      barrier_(*this) {
  for (unsigned number = 0; number <= options.workers; ++number)
    traffic_.push_back(std::make_unique<Traffic>(static_cast<std::size_t>(port_->size())));
  for (unsigned slot = 0; slot < pool_.slots(); ++slot) inboxes_.push_back(std::make_unique<Inbox>());
}

Core::~Core() {
  finish();
  lasting_->give_back();
}

void Core::start() {
  actions_.agree(*port_);
  port_->start(*this, options_.workers);
  pool_.start(rank_);
  waits_.emplace(*this);
  is_running_ = true;
}

bool Core::poll(unsigned slot) {
  return communicate(
      slot, slot > pool_.outside() || pool_.sources().worker(slot).deque.size_guess() < kMostBatches);
}

bool Core::communicate(unsigned slot, bool may_receive) {
  const unsigned worker = number_of(slot);
  if (slot == pool_.outside()) {
    // A thread that waits for room: workers move communication.
    pool_.wake();
    sched_yield();
    return outbox_.flush(worker);
  }
  bool has_done = outbox_.flush(worker);
  if (may_receive) has_done |= port_->poll(worker);
  has_done |= hand_over(slot);
  barrier_.look();
  if (has_waiting_records_.load(std::memory_order_acquire)) [[unlikely]]
    has_done |= flush_records(worker);
  if (has_failures_.load(std::memory_order_relaxed)) [[unlikely]] {
    std::vector<int> ranks;
    {
      const std::lock_guard lock(failure_mutex_);
      ranks.swap(new_failures_);
      has_failures_ = false;
    }
    for (const int rank : ranks) end_failed(rank);
    return true;
  }
  return has_done;
}

void Core::park(unsigned slot, Timeout longest, std::uint64_t seen) {
  // While it waits for all to be quiet it looks again soon.
  if (barrier_.is_asking()) longest = Timeout::of_nanoseconds(100'000);
  port_->park(number_of(slot), longest, seen);
  hand_over(slot);
}

bool Core::hand_over(unsigned slot) {
  Inbox& inbox = *inboxes_[slot];
  bool has_done = false;
  if (inbox.open) {
    pool_.schedule(*inbox.open.release());
    has_done = true;
  }
  if (!inbox.controls.empty()) [[unlikely]] {
    const std::vector<Control> controls = std::exchange(inbox.controls, {});
    for (const Control& control : controls) barrier_.handle(control.source, control.record);
    has_done = true;
  }
  return has_done;
}

void Core::send_record(int rank, const JobBarrier::Record& record) {
  const std::lock_guard lock(records_mutex_);
  waiting_records_.emplace_back(rank, record);
  has_waiting_records_.store(true, std::memory_order_release);
  pool_.wake();
}

bool Core::flush_records(unsigned worker) {
  const std::unique_lock lock(records_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  bool has_sent = false;
  while (!waiting_records_.empty()) {
    const auto& [rank, record] = waiting_records_.front();
    std::array<std::byte, sizeof(ParcelHeader) + sizeof record> message;
    const ParcelHeader header{message.size(), kControl};
    std::memcpy(message.data(), &header, sizeof header);
    std::memcpy(message.data() + sizeof header, &record, sizeof record);
    if (!port_->has_failed(rank) && !port_->try_send_small(rank, message, worker)) return has_sent;
    waiting_records_.pop_front();
    has_sent = true;
  }
  has_waiting_records_.store(false, std::memory_order_relaxed);
  return has_sent;
}

void Core::send(int rank, Writer& writer, std::unique_ptr<HeldValues> held) {
  ByteBuffer& head = writer.buffer();
  if (head.size() > UINT32_MAX)
    throw Error("a parcel has " + std::to_string(head.size()) +
                " bytes besides its arrays; at most 4294967295 are possible");
  if (writer.chunks().size() > kMostChunks)
    throw Error("a parcel has " + std::to_string(writer.chunks().size()) + " long arrays; at most " +
                std::to_string(kMostChunks) + " are possible");
  ParcelHeader header;
  std::memcpy(&header, head.data(), sizeof header);
  header.size = static_cast<std::uint32_t>(head.size());
  if ((header.action & kHasChunks) != 0) {
    const std::uint64_t chunks = writer.chunks().size();
    std::memcpy(head.data() + sizeof header + ((header.action & kHasCall) != 0 ? 8 : 0), &chunks,
                sizeof chunks);
  }
  if ((header.action & kAnswer) == 0)
    header.action = (header.action & ~kActionBits) | actions_.number_at(header.action & kActionBits);
  std::memcpy(head.data(), &header, sizeof header);
  if (outbox_.is_full() && !InsidePort::is_here()) [[unlikely]]
    outbox_.wait_for_room();
  // A task may go on in another worker after a wait.
  const unsigned worker = pool_.worker_number();
  if (worker == pool_.outside()) return send_from_outside(rank, writer, std::move(held));
  // Whoever waits for an answer is told; the failure may have been reported before the call began.
  if (port_->has_failed(rank)) [[unlikely]]
    return failed(rank);
  std::atomic<std::uint64_t>& sent = traffic_[worker]->sent[static_cast<std::size_t>(rank)];
  sent.store(sent.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  outbox_.send(rank, head, writer.chunks(), std::move(held), worker);
}

void Core::send_from_outside(int rank, Writer& writer, std::unique_ptr<HeldValues> held) {
  // finish() closes first, and then waits for those who are here.
  senders_outside_.fetch_add(1, std::memory_order_seq_cst);
  if (is_closed_.load(std::memory_order_seq_cst)) {
    senders_outside_.fetch_sub(1, std::memory_order_release);
    check_is_open("an action");
  }
  if (port_->has_failed(rank)) {
    failed(rank);
  } else {
    const unsigned worker = pool_.outside();
    traffic_[worker]->sent[static_cast<std::size_t>(rank)].fetch_add(1, std::memory_order_release);
    outbox_.send(rank, writer.buffer(), writer.chunks(), std::move(held), worker);
  }
  pool_.wake();
  senders_outside_.fetch_sub(1, std::memory_order_release);
}

void Core::count_finished(int source) noexcept { count_finished(source, pool_.worker_number()); }

void Core::count_finished(int source, unsigned worker) noexcept {
  std::atomic<std::uint64_t>& finished = traffic_[worker]->finished[static_cast<std::size_t>(source)];
  if (worker != pool_.outside())
    finished.store(finished.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  else
    finished.fetch_add(1, std::memory_order_release);
}

void Core::failed(int rank) {
  const std::lock_guard lock(failure_mutex_);
  new_failures_.push_back(rank);
  has_failures_ = true;
  port_->wake();
}

void Core::fill_counts(JobBarrier::Record& record) const {
  // Finished before sent, and tasks in between, so that nothing is taken for ended that is not; first of all
  // the tasks that wait for quiet, as whatever they have begun is counted below.
  JobBarrier::QuietTasks quiet;
  if (record.kind == JobBarrier::Kind::quiet) quiet = barrier_.quiet_tasks();
  for (int rank = 0; rank < port_->size(); ++rank) {
    if (port_->has_failed(rank)) {
      ++record.failed;
      continue;
    }
    if (!quiet.calls.empty()) record.finished += quiet.calls[static_cast<std::size_t>(rank)];
    for (const auto& traffic : traffic_)
      record.finished += traffic->finished[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
  }
  const TaskCounts tasks = pool_.sources().counts();
  record.unknown = unknown_.load(std::memory_order_acquire);
  record.pending = tasks.made - tasks.finished - quiet.tasks + (outbox_.is_empty() ? 0 : 1);
  for (int rank = 0; rank < port_->size(); ++rank)
    if (!port_->has_failed(rank))
      for (const auto& traffic : traffic_)
        record.sent += traffic->sent[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
}

ParcelCounters Core::counters() const noexcept {
  ParcelCounters counters;
  for (const auto& traffic : traffic_) {
    for (const auto& sent : traffic->sent) counters.sent += sent.load(std::memory_order_relaxed);
    for (const auto& finished : traffic->finished)
      counters.received += finished.load(std::memory_order_relaxed);
  }
  const OutboxCounts out = outbox_.counts();
  counters.messages = out.messages;
  counters.pushed_back = out.pushed_back;
  counters.aggregated = out.aggregated;
  counters.lost = out.lost;
  counters.waits = out.waits;
  counters.pending = out.pending;
  const TaskCounts tasks = pool_.sources().counts();
  counters.tasks = tasks.finished;
  counters.stolen = tasks.stolen;
  counters.parks = tasks.parks;
  counters.malformed = malformed_.load(std::memory_order_relaxed);
  counters.late = late_.load(std::memory_order_relaxed);
  return counters;
}

}  // namespace weft::parcel::detail
