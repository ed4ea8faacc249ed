// What a parcel runtime consists of.
#pragma once

#include <weft/parcel/channel.hpp>
#include <weft/parcel/detail/runtime_part.hpp>
#include <weft/parcel/object.hpp>
#include <weft/parcel/runtime.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include "parcel/job_barrier.hpp"
#include "parcel/pending_calls.hpp"
#include "parcel/receive/parcel_batch.hpp"
#include "parcel/send/outbox.hpp"
#include "parcel/tasks/worker_pool.hpp"

namespace weft::parcel::detail {

class Core final : public Receiver, private BackgroundWork {
 public:
  Core(Runtime& runtime, std::unique_ptr<Parcelport> port, const RuntimeOptions& options);
  ~Core();

  void start();
  /// Waits for all ranks, and ends the workers.
  void finish() noexcept;

  [[nodiscard]] Runtime& runtime() noexcept { return runtime_; }
  [[nodiscard]] WorkerPool& scheduler() noexcept { return pool_; }
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
  void report_malformed(int source, std::uint64_t call) noexcept;
  void count_finished(int source) noexcept;
  /// The counts of a barrier's record: parcels among this rank and the living ones, and what is pending.
  void fill_counts(JobBarrier::Record& record) const;

  // Objects and channels.
  std::mutex& table_mutex() noexcept { return table_mutex_; }
  struct KeptObject {
    std::shared_ptr<void> object;
    std::int64_t credit = 0;
  };
  std::unordered_map<std::uint64_t, KeptObject> objects;
  std::unordered_map<std::uint64_t, std::shared_ptr<ChannelBase>> channels;
  std::uint64_t last_object = 0;
  std::unordered_map<std::type_index, std::shared_ptr<RuntimePart>> parts;

  // Receiver
  void on_small(int source, Bytes parcels) override;
  bool place(IncomingMessage& message) override;
  void arrived(std::unique_ptr<IncomingMessage> message) override;
  void lost(std::unique_ptr<IncomingMessage> message) override;
  void sent(std::unique_ptr<OutgoingMessage> message, bool is_delivered) override {
    outbox_.sent(std::move(message), is_delivered);
  }
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

  bool poll(unsigned worker) override;
  bool communicate(unsigned worker, bool may_receive);
  void park(unsigned worker, Timeout longest) override;
  void wake() noexcept override { port_->wake(); }
  bool hand_over(unsigned worker);
  [[nodiscard]] DecodedParcel* decode(int source, const ParsedParcel& parcel, Reader& reader);
  bool flush_records(unsigned worker);
  bool take_control(int source, Bytes parcels);

  Runtime& runtime_;
  const RuntimeOptions options_;
  std::unique_ptr<Parcelport> port_;
  std::vector<const ActionEntry*> actions_;
  WorkerPool pool_;
  Outbox outbox_;
  PendingCalls calls_;
  JobBarrier barrier_;
  std::vector<std::unique_ptr<Traffic>> traffic_;  // by worker, then one for all other threads
  std::vector<std::unique_ptr<Inbox>> inboxes_;
  std::mutex table_mutex_;
  std::mutex records_mutex_;
  std::deque<std::pair<int, JobBarrier::Record>> waiting_records_;
  std::atomic<bool> has_waiting_records_{false};
  std::mutex failure_mutex_;
  std::vector<int> new_failures_;
  std::atomic<bool> has_failures_{false};
  std::atomic<std::uint64_t> malformed_{0};
  std::atomic<bool> is_running_{false};
};

}  // namespace weft::parcel::detail
