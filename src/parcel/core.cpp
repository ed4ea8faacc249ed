#include "parcel/core.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "parcel/action_registry.hpp"

namespace weft::parcel::detail {

namespace {

// Beyond so many batches in its own deque a busy worker takes no more from the network, which then pushes
// back at the senders.
constexpr std::int64_t kMostBatches = 1024;

void log_line(int rank, const std::string& text) noexcept {
  std::fprintf(stderr, "weft: rank %d: parcel: %s\n", rank, text.c_str());
}

std::string text_of_current_exception() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

}  // namespace

Core::Core(Runtime& runtime, std::unique_ptr<Parcelport> port, const RuntimeOptions& options)
    : runtime_(runtime),
      options_(options),
      port_(std::move(port)),
      pool_(options.workers, *this, &runtime),
      outbox_(
          *port_, options,
          [](void* core) {
            auto& self = *static_cast<Core*>(core);
            // Whoever waits for room takes what comes, however much: the other side may do the same.
            return self.communicate(self.pool_.worker_number(), true);
          },
          this),
      barrier_(*this) {
  for (unsigned number = 0; number <= options.workers; ++number) {
    traffic_.push_back(std::make_unique<Traffic>(static_cast<std::size_t>(port_->size())));
    inboxes_.push_back(std::make_unique<Inbox>());
  }
}

Core::~Core() { finish(); }

void Core::start() {
  actions_ = agree_on_actions(*port_);
  port_->start(*this, options_.workers);
  pool_.start();
  is_running_ = true;
}

void Core::finish() noexcept {
  if (!is_running_.exchange(false)) return;
  barrier_.wait(JobBarrier::Kind::quiet);
  while (has_waiting_records_.load(std::memory_order_acquire)) sched_yield();  // the others' release
  pool_.stop();
  port_->stop();
}

bool Core::poll(unsigned worker) { return communicate(worker, pool_.waiting(worker) < kMostBatches); }

bool Core::communicate(unsigned worker, bool may_receive) {
  if (worker == pool_.outside()) {
    // A thread that waits for room: workers move communication.
    pool_.wake();
    sched_yield();
    return outbox_.flush(worker);
  }
  bool has_done = outbox_.flush(worker);
  if (may_receive) has_done |= port_->poll(worker);
  has_done |= hand_over(worker);
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
    for (const int rank : ranks) {
      for (const PendingCall& call : calls_.take_all(rank)) {
        call.state->set_exception(std::make_exception_ptr(PeerFailed(rank)));
        call.state->release();
      }
      std::vector<std::shared_ptr<ChannelBase>> all;
      {
        const std::lock_guard lock(table_mutex_);
        for (auto& [id, channel] : channels) all.push_back(channel);
      }
      for (auto& channel : all) channel->fail(rank);
      barrier_.peer_failed(rank);
    }
    return true;
  }
  return has_done;
}

void Core::park(unsigned worker, Timeout longest) {
  // While it waits for all to be quiet it looks again soon.
  if (barrier_.is_asking()) longest = Timeout::of_nanoseconds(100'000);
  port_->park(worker, longest);
  hand_over(worker);
}

bool Core::hand_over(unsigned worker) {
  Inbox& inbox = *inboxes_[worker];
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
  ParcelHeader header;
  std::memcpy(&header, head.data(), sizeof header);
  header.size = static_cast<std::uint32_t>(head.size());
  std::memcpy(head.data(), &header, sizeof header);
  if ((header.action & kHasChunks) != 0) {
    const std::uint64_t chunks = writer.chunks().size();
    std::memcpy(head.data() + sizeof header + ((header.action & kHasCall) != 0 ? 8 : 0), &chunks,
                sizeof chunks);
  }
  const unsigned worker = pool_.worker_number();
  std::atomic<std::uint64_t>& sent = traffic_[worker]->sent[static_cast<std::size_t>(rank)];
  if (worker != pool_.outside())
    sent.store(sent.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  else
    sent.fetch_add(1, std::memory_order_release);
  outbox_.send(rank, head, writer.chunks(), std::move(held), worker);
  if (worker == pool_.outside()) pool_.wake();
}

void Core::count_finished(int source) noexcept {
  std::atomic<std::uint64_t>& finished =
      traffic_[pool_.worker_number()]->finished[static_cast<std::size_t>(source)];
  finished.store(finished.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void Core::run_parcel(int source, const ParsedParcel& parcel, ParcelBytes& bytes) {
  Reader reader(parcel.arguments);
  if (parcel.action != kAnswer) {
    if (parcel.action >= actions_.size()) Reader::malformed("a parcel names an action that does not exist");
    actions_[parcel.action]->run({runtime_, source, parcel.call}, reader, bytes);
    return;
  }
  const std::unique_ptr<DecodedParcel> answer(decode(source, parcel, reader));
  reader.finish();
  bytes.decoded();
  answer->execute(*static_cast<Task*>(const_cast<std::unique_ptr<DecodedParcel>&>(answer).release()));
}

namespace {

/// An answer that has been decoded.
struct DecodedAnswer final : DecodedParcel {
  DecodedAnswer() noexcept : DecodedParcel(&run) {}
  ~DecodedAnswer() override {
    if (call.state == nullptr) return;
    if (!error) error = std::make_exception_ptr(MalformedParcel("the answer of a call could not be read"));
    call.state->set_exception(std::move(error));
    call.state->release();
  }
  static void run(Task& task) noexcept {
    auto& self = static_cast<DecodedAnswer&>(task);
    if (!self.error && self.call.state != nullptr) {
      FutureStateBase* const state = std::exchange(self.call.state, nullptr);
      self.call.operations->finish(*state);
      state->release();
    }
    delete &self;
  }
  PendingCall call;
  std::exception_ptr error;
};

}  // namespace

DecodedParcel* Core::decode(int source, const ParsedParcel& parcel, Reader& reader) {
  if (parcel.action != kAnswer) {
    if (parcel.action >= actions_.size()) Reader::malformed("a parcel names an action that does not exist");
    return actions_[parcel.action]->decode({runtime_, source, parcel.call}, reader);
  }
  auto answer = std::make_unique<DecodedAnswer>();
  answer->call = calls_.take(parcel.call, source);
  if (answer->call.state == nullptr) Reader::malformed("an answer names a call that nobody waits for");
  std::uint8_t is_error = 0;
  reader(is_error);
  if (is_error != 0) {
    std::string text;
    {
      Unchunked guard(reader);
      reader(text);
    }
    answer->error = std::make_exception_ptr(RemoteError(source, text));
  } else {
    answer->call.operations->read(*answer->call.state, reader);
  }
  return answer.release();
}

bool Core::take_control(int source, Bytes parcels) {
  ParcelHeader header;
  if (parcels.size() != sizeof header + sizeof(JobBarrier::Record)) return false;
  std::memcpy(&header, parcels.data(), sizeof header);
  if (header.action != kControl || header.size != parcels.size()) return false;
  Control control{source, {}};
  std::memcpy(&control.record, parcels.data() + sizeof header, sizeof control.record);
  inboxes_[pool_.worker_number()]->controls.push_back(control);
  return true;
}

void Core::on_small(int source, Bytes parcels) {
  if (take_control(source, parcels)) [[unlikely]]
    return;
  Inbox& inbox = *inboxes_[pool_.worker_number()];
  if (inbox.open && inbox.open->append(source, parcels)) [[likely]]
    return;
  if (inbox.open) pool_.schedule(*inbox.open.release());
  inbox.open = std::make_unique<ParcelBatch>(*this);
  if (inbox.open->append(source, parcels)) return;
  // Longer than a batch.
  struct Copied final : IncomingMessage {
    std::vector<std::byte> bytes;
  };
  auto copied = std::make_unique<Copied>();
  copied->source = source;
  copied->bytes.assign(parcels.begin(), parcels.end());
  copied->head = copied->bytes;
  arrived(std::move(copied));
}

bool Core::place(IncomingMessage& message) {
  Bytes rest = message.head;
  std::size_t next_chunk = 0;
  ParsedParcel parcel;
  try {
    while (!rest.empty()) {
      parcel = ParsedParcel();
      parcel = parse_parcel(rest);
      rest = rest.subspan(parcel.size);
      if (parcel.chunks > message.chunk_sizes.size() - next_chunk)
        Reader::malformed("a parcel has more chunks than its message");
      const std::span<const std::uint64_t> sizes(message.chunk_sizes.data() + next_chunk, parcel.chunks);
      next_chunk += parcel.chunks;
      Reader reader(parcel.arguments, sizes);
      message.decoded.push_back(decode(message.source, parcel, reader));
      message.decoded.back()->source = message.source;
      reader.finish();
      message.landings.insert(message.landings.end(), reader.landings().begin(), reader.landings().end());
    }
    if (next_chunk != message.chunk_sizes.size())
      Reader::malformed("a message has more chunks than its parcels");
    return true;
  } catch (...) {
    report_malformed(message.source, parcel.action != kAnswer ? parcel.call : 0);
    for (DecodedParcel* decoded : message.decoded) {
      delete decoded;
      count_finished(message.source);
    }
    message.decoded.clear();
    message.landings.clear();
    return false;
  }
}

void Core::arrived(std::unique_ptr<IncomingMessage> message) {
  if (message->chunk_sizes.empty() && message->decoded.empty()) {
    auto batch = std::make_unique<ParcelBatch>(*this);
    batch->take(std::move(message));
    pool_.schedule(*batch.release());
    return;
  }
  /// Runs a decoded parcel, and counts it.
  struct Counted final : Task {
    Counted(Core& who, DecodedParcel& what) noexcept : Task(&run), core(who), parcel(what) {}
    static void run(Task& task) noexcept {
      auto& self = static_cast<Counted&>(task);
      const int source = self.parcel.source;
      self.parcel.execute(self.parcel);
      self.core.count_finished(source);
      delete &self;
    }
    Core& core;
    DecodedParcel& parcel;
  };
  for (DecodedParcel* const parcel : message->decoded) pool_.schedule(*new Counted(*this, *parcel));
  message->decoded.clear();
}

void Core::lost(std::unique_ptr<IncomingMessage> message) {
  for (DecodedParcel* const parcel : message->decoded) delete parcel;
  message->decoded.clear();
}

void Core::failed(int rank) {
  const std::lock_guard lock(failure_mutex_);
  new_failures_.push_back(rank);
  has_failures_ = true;
  port_->wake();
}

void Core::report_malformed(int source, std::uint64_t call) noexcept {
  malformed_.fetch_add(1, std::memory_order_relaxed);
  const std::string what = text_of_current_exception();
  log_line(port_->rank(), "a parcel from rank " + std::to_string(source) + " was dropped: " + what);
  if (call == 0) return;
  try {
    Writer writer(options_.zero_copy);
    write_header(writer, kAnswer, call, false);
    const std::uint8_t is_error = 1;
    Unchunked guard(writer);
    writer(is_error, "the parcel was dropped: " + what);
    send(source, writer, nullptr);
  } catch (const std::exception& error) {
    log_line(port_->rank(), error.what());
  }
}

void Core::fill_counts(JobBarrier::Record& record) const {
  // Finished before sent, and tasks in between, so that nothing is taken for ended that is not.
  for (int rank = 0; rank < port_->size(); ++rank) {
    if (port_->has_failed(rank)) {
      ++record.failed;
      continue;
    }
    for (const auto& traffic : traffic_)
      record.finished += traffic->finished[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
  }
  const TaskCounts tasks = pool_.counts();
  record.pending = tasks.made - tasks.finished + (outbox_.is_empty() ? 0 : 1);
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
  const TaskCounts tasks = pool_.counts();
  counters.tasks = tasks.finished;
  counters.stolen = tasks.stolen;
  counters.parks = tasks.parks;
  counters.malformed = malformed_.load(std::memory_order_relaxed);
  return counters;
}

}  // namespace weft::parcel::detail
