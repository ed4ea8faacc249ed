#include "parcel/runtime/core.hpp"

#include <algorithm>
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
      barrier_(*this),
      traffic_(options.workers, size_),
      records_(*port_, pool_),
      reader_(*this) {
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
  // A stand-in calls the port as threads do that are no workers.
  const unsigned worker = std::min(slot, pool_.outside());
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
  if (records_.has_waiting()) [[unlikely]]
    has_done |= records_.flush(worker);
  if (has_failures_.load(std::memory_order_relaxed)) [[unlikely]] {
    std::vector<int> ranks;
    {
      const std::lock_guard lock(failure_mutex_);
      ranks.swap(new_failures_);
      has_failures_ = false;
    }
    const InsidePort inside(pool_);
    for (const int rank : ranks) {
      awaited_.fail(rank);
      barrier_.peer_failed(rank);
    }
    return true;
  }
  return has_done;
}

void Core::park(unsigned slot, Timeout longest, std::uint64_t seen) {
  // While it waits for all to be quiet it looks again soon.
  if (barrier_.is_asking()) longest = Timeout::of_nanoseconds(100'000);
  port_->park(std::min(slot, pool_.outside()), longest, seen);
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
  // Whoever waits for an answer is notified; the failure may have been reported before the call began.
  if (port_->has_failed(rank)) [[unlikely]]
    return failed(rank);
  traffic_.sent(rank, worker);
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
    traffic_.sent(rank, worker);
    outbox_.send(rank, writer.buffer(), writer.chunks(), std::move(held), worker);
  }
  pool_.wake();
  senders_outside_.fetch_sub(1, std::memory_order_release);
}

BackgroundWork::Parcels Core::choose_parcel(Task& task, const BlockedKinds& blocked,
                                            const void*& kind) noexcept {
  return reader_.choose(task, blocked, kind);
}

void Core::failed(int rank) {
  const std::lock_guard lock(failure_mutex_);
  new_failures_.push_back(rank);
  has_failures_ = true;
  port_->wake();
}

ParcelCounters Core::counters() noexcept {
  ParcelCounters counters;
  for (int rank = 0; rank < size_; ++rank) {
    counters.sent += traffic_.sent_to(rank);
    counters.received += traffic_.finished_of(rank);
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
  counters.malformed = reader_.malformed();
  counters.late = reader_.late();
  return counters;
}

}  // namespace weft::parcel::detail
