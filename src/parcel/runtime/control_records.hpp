// Records of barriers on their way to other ranks.
#pragma once

#include <weft/parcel/parcelport.hpp>

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "parcel/runtime/job_barrier.hpp"
#include "parcel/tasks/worker_pool.hpp"

namespace weft::parcel {

/// Each is a message by itself, which neither waits behind parcels nor counts as one. Any thread.
class ControlRecords {
 public:
  ControlRecords(Parcelport& port, WorkerPool& pool) noexcept : port_(port), pool_(pool) {}

  void send(int rank, const JobBarrier::Record& record);
  [[nodiscard]] bool has_waiting() const noexcept { return has_waiting_.load(std::memory_order_acquire); }
  /// Sends those that wait, as far as the port takes them. Returns whether it has sent any. A worker.
  bool flush(unsigned worker);
  /// What a message holds, if it is a record.
  [[nodiscard]] static std::optional<JobBarrier::Record> read(Bytes message) noexcept;

 private:
  Parcelport& port_;
  WorkerPool& pool_;
  std::mutex mutex_;
  std::deque<std::pair<int, JobBarrier::Record>> waiting_;
  std::atomic<bool> has_waiting_{false};
};

}  // namespace weft::parcel
