// What a parcel runtime consists of.
#pragma once

#include <weft/parcel/runtime.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "parcel/action_registry.hpp"
#include "parcel/lasting_scheduler.hpp"
#include "parcel/runtime/awaited.hpp"
#include "parcel/runtime/control_records.hpp"
#include "parcel/runtime/job_barrier.hpp"
#include "parcel/runtime/parcel_batch.hpp"
#include "parcel/runtime/parcel_reader.hpp"
#include "parcel/runtime/task_waits.hpp"
#include "parcel/runtime/traffic.hpp"
#include "parcel/send/outbox.hpp"
#include "parcel/tasks/worker_pool.hpp"

namespace weft::parcel::detail {

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
  [[nodiscard]] Parcelport& port() const noexcept { return *port_; }
  [[nodiscard]] JobBarrier& barrier() noexcept { return barrier_; }
  [[nodiscard]] const RuntimeOptions& options() const noexcept { return options_; }
  [[nodiscard]] Outbox& outbox() noexcept { return outbox_; }
  [[nodiscard]] Traffic& traffic() noexcept { return traffic_; }
  [[nodiscard]] ControlRecords& records() noexcept { return records_; }
  [[nodiscard]] ParcelReader& reader() noexcept { return reader_; }
  [[nodiscard]] Awaited& awaited() noexcept { return awaited_; }
  [[nodiscard]] ParcelCounters counters() noexcept;

  void send(int rank, Writer& writer, std::unique_ptr<HeldValues> held);

  // Receiver
  void on_small(int source, Bytes parcels) override;
  bool place(IncomingMessage& message) override;
  void arrived(std::unique_ptr<IncomingMessage> message) override;
  void dropped(int source, const char* why) override;
  void lost(std::unique_ptr<IncomingMessage> message) override;
  void sent(std::unique_ptr<OutgoingMessage> message, bool is_delivered) override;
  void failed(int rank) override;

 private:
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
  void send_from_outside(int rank, Writer& writer, std::unique_ptr<HeldValues> held);

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
  JobBarrier barrier_;
  Traffic traffic_;
  ControlRecords records_;
  ParcelReader reader_;
  Awaited awaited_;
  std::vector<std::unique_ptr<Inbox>> inboxes_;  // by slot
  std::mutex failure_mutex_;
  std::vector<int> new_failures_;
  std::atomic<bool> has_failures_{false};
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
