// What a parcel runtime consists of.
#pragma once

#include <weft/parcel/channel.hpp>
#include <weft/parcel/detail/runtime_part.hpp>
#include <weft/parcel/runtime.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include "parcel/action_registry.hpp"
#include "parcel/lasting_scheduler.hpp"
#include "parcel/pending_calls.hpp"
#include "parcel/runtime/job_barrier.hpp"
#include "parcel/runtime/parcel_batch.hpp"
#include "parcel/runtime/task_waits.hpp"
#include "parcel/send/outbox.hpp"
#include "parcel/tasks/worker_pool.hpp"

namespace weft::parcel::detail {

struct DecodedAnswer;

class Core final : public Receiver, private BackgroundWork {
 public:
  Core(Runtime& runtime, std::unique_ptr<Parcelport> port, const RuntimeOptions& options);
  ~Core();

  void start();
  /// Waits for all ranks, ends the workers, and what waits for something that cannot come any more. What is
  /// left is for those who still call: check_is_open().
  void finish() noexcept;

  [[nodiscard]] Runtime& runtime() noexcept { return runtime_; }
  [[nodiscard]] WorkerPool& scheduler() noexcept { return pool_; }
  /// After finish(): frees what the port has.
  void release_port() noexcept { port_.reset(); }
  /// The scheduler for futures, which may live longer than the runtime.
  [[nodiscard]] Scheduler& lasting_scheduler() noexcept { return *lasting_; }
  [[nodiscard]] const std::shared_ptr<RuntimeLink>& link() const noexcept { return link_; }
  [[nodiscard]] const ActionTable& actions() const noexcept { return actions_; }
  /// Throws RuntimeEnded when all ranks have ended their work already. `what`: "action add".
  void check_is_open(const std::string& what) const;
  [[nodiscard]] bool is_closed() const noexcept { return is_closed_.load(std::memory_order_relaxed); }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] Parcelport& port() noexcept { return *port_; }
  [[nodiscard]] const Parcelport& port() const noexcept { return *port_; }
  [[nodiscard]] JobBarrier& barrier() noexcept { return barrier_; }
  [[nodiscard]] const RuntimeOptions& options() const noexcept { return options_; }
  [[nodiscard]] PendingCalls& calls() noexcept { return calls_; }
  [[nodiscard]] ParcelCounters counters() const noexcept;

  void send(int rank, Writer& writer, std::unique_ptr<HeldValues> held);
  /// Sends a record of barrier(), by itself: it neither waits behind parcels nor counts as one.
  void send_record(int rank, const JobBarrier::Record& record);
  /// Decodes and runs; throws what cannot be decoded.
  void run_parcel(int source, const ParsedParcel& parcel, ParcelBytes& bytes);
  /// A parcel could not be read, because of the exception that is being handled: counts it, logs it, and
  /// tells the caller, if there is one. An answer, or what may be one, is never answered.
  void refuse_parcel(int source, const ParsedParcel& parcel) noexcept;
  void count_finished(int source) noexcept;
  void count_finished(int source, unsigned worker) noexcept;
  /// Parcels were lost here, and nobody knows how many.
  void count_unknown() noexcept { unknown_.fetch_add(1, std::memory_order_release); }
  /// The counts of a barrier's record: parcels among this rank and the living ones, and what is pending.
  void fill_counts(JobBarrier::Record& record) const;

  // Channels, and what else there is one of.
  std::mutex& table_mutex() noexcept { return table_mutex_; }
  std::unordered_map<std::uint64_t, std::shared_ptr<ChannelBase>> channels;
  std::unordered_map<std::type_index, std::shared_ptr<RuntimePart>> parts;

  // Receiver
  void on_small(int source, Bytes parcels) override;
  bool place(IncomingMessage& message) override;
  void arrived(std::unique_ptr<IncomingMessage> message) override;
  void dropped(int source, const char* why) override;
  void lost(std::unique_ptr<IncomingMessage> message) override;
  void sent(std::unique_ptr<OutgoingMessage> message, bool is_delivered) override;
  void failed(int rank) override;

 private:
  /// What one worker, or all threads that are none together, have sent and what has run.
  struct Traffic {
    std::vector<std::atomic<std::uint64_t>> sent;
    std::vector<std::atomic<std::uint64_t>> finished;
    explicit Traffic(std::size_t ranks) : sent(ranks), finished(ranks) {}
  };
  struct Control {
    int source;
    JobBarrier::Record record;
  };
  struct Inbox {
    std::unique_ptr<ParcelBatch> open;
    std::vector<Control> controls;
  };

  bool poll(unsigned slot) override;
  bool communicate(unsigned slot, bool may_receive);
  std::uint64_t wakes() const noexcept override { return port_->wakes(); }
  void park(unsigned slot, Timeout longest, std::uint64_t seen) override;
  void wake() noexcept override { port_->wake(); }
  Parcels choose_parcel(Task& task, const BlockedKinds& blocked, const void*& kind) noexcept override;
  bool hand_over(unsigned slot);
  /// A stand-in calls the port as threads do that are no workers.
  [[nodiscard]] unsigned number_of(unsigned slot) const noexcept { return std::min(slot, pool_.outside()); }
  [[nodiscard]] std::unique_ptr<DecodedAnswer> decode_answer(int source, const ParsedParcel& parcel,
                                                             Reader& reader);
  /// Decodes what belongs to a message with chunks. Where it cannot, the chunks land nowhere.
  [[nodiscard]] std::unique_ptr<DecodedParcel> decode(IncomingMessage& message, const ParsedParcel& parcel,
                                                      std::size_t first_chunk);
  [[nodiscard]] const ActionEntry& action_of(const ParsedParcel& parcel) const;
  void refuse_all(IncomingMessage& message) noexcept;
  void send_from_outside(int rank, Writer& writer, std::unique_ptr<HeldValues> held);
  void end_failed(int rank);
  void end_waiting() noexcept;
  bool flush_records(unsigned worker);
  bool take_control(int source, Bytes parcels);

  Runtime& runtime_;
  const std::string name_;  // what options_ refers to
  const std::string port_name_;
  const RuntimeOptions options_;
  std::unique_ptr<Parcelport> port_;
  const int rank_;
  const int size_;
  ActionTable actions_;
  WorkerPool pool_;
  LastingScheduler* const lasting_;
  const std::shared_ptr<RuntimeLink> link_;
  Outbox outbox_;
  PendingCalls calls_;
  JobBarrier barrier_;
  std::vector<std::unique_ptr<Traffic>> traffic_;  // by worker, then one for all other threads
  std::vector<std::unique_ptr<Inbox>> inboxes_;    // by slot
  std::mutex table_mutex_;
  std::mutex records_mutex_;
  std::deque<std::pair<int, JobBarrier::Record>> waiting_records_;
  std::atomic<bool> has_waiting_records_{false};
  std::mutex failure_mutex_;
  std::vector<int> new_failures_;
  std::atomic<bool> has_failures_{false};
  std::atomic<std::uint64_t> malformed_{0};
  std::atomic<std::uint64_t> late_{0};
  std::atomic<std::uint64_t> unknown_{0};
  std::atomic<bool> is_running_{false};
  std::atomic<bool> is_closed_{false};
  // Threads that are no workers, inside send().
  std::atomic<std::uint32_t> senders_outside_{0};
  std::optional<TaskWaits> waits_;  // while it runs
};

/// While it lives the thread is inside a call of the port, or frees what came with one: whatever the
/// program's code does there, it does not wait for room.
class InsidePort {
 public:
  explicit InsidePort(WorkerPool& pool) noexcept;
  ~InsidePort();
  InsidePort(const InsidePort&) = delete;
  InsidePort& operator=(const InsidePort&) = delete;
  [[nodiscard]] static bool is_here() noexcept;
};

/// The runtime whose parcels the calling thread decodes though it is none of its workers; nullptr: none.
[[nodiscard]] Runtime* decoding_runtime() noexcept;

}  // namespace weft::parcel::detail
