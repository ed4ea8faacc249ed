// What the parcelports over weft have in common: devices, who progresses them, and how a worker sleeps.
#pragma once

#include <weft/parcel/options.hpp>
#include <weft/parcel/parcelport.hpp>
#include <weft/weft.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "parcel/ports/weft/progress_threads.hpp"

namespace weft::parcel {

/// Any thread, unless said otherwise.
class PortDevices {
 public:
  PortDevices(std::unique_ptr<weft::Runtime> runtime, const RuntimeOptions& options)
      : runtime_(std::move(runtime)),
        progress_(options.progress),
        count_(options.devices),
        first_of_followups_(options.followup_devices == Sharing::own ? options.devices : 0) {
    for (unsigned number = 0; number < first_of_followups_ + count_; ++number)
      devices_.push_back(std::make_unique<weft::Device>(
          *runtime_, weft::DeviceOptions{.index = static_cast<std::int32_t>(number)}));
    for (auto& device : devices_) endpoints_.push_back(std::make_unique<weft::Endpoint>(*device));
  }

  [[nodiscard]] weft::Runtime& runtime() const noexcept { return *runtime_; }
  [[nodiscard]] int ranks_of_host() const noexcept {
    return static_cast<int>(runtime_->local_ranks().size());
  }
  [[nodiscard]] std::size_t packet_bytes() const { return endpoints_[0]->attributes().packet_bytes; }
  [[nodiscard]] weft::Packet get_packet() noexcept { return devices_[0]->get_packet(); }
  [[nodiscard]] weft::Endpoint& first() noexcept { return *endpoints_[0]; }
  [[nodiscard]] weft::Endpoint& of(unsigned worker) noexcept { return *endpoints_[worker % count_]; }
  /// The index of the worker's device, on which peers' devices of the same workers receive.
  [[nodiscard]] std::uint8_t index_of(unsigned worker) const noexcept {
    return static_cast<std::uint8_t>(worker % count_);
  }
  /// The same for what follows a header.
  [[nodiscard]] weft::Endpoint& followups_of(unsigned worker) noexcept {
    return *endpoints_[followup_index_of(worker)];
  }
  [[nodiscard]] std::uint8_t followup_index_of(unsigned worker) const noexcept {
    return static_cast<std::uint8_t>(first_of_followups_ + worker % count_);
  }
  /// Whether workers handle messages inside progress(); progress threads leave them elsewhere.
  [[nodiscard]] bool have_threads() const noexcept { return progress_ != Progress::workers; }

  /// One thread: begins and ends the progress threads.
  void start(unsigned workers) {
    workers_ = workers;
    threads_ = make_progress_threads(devices_, progress_);
  }
  void stop() { threads_.clear(); }

  /// Progresses for a worker, unless only threads do. Returns whether anything has moved.
  bool progress(unsigned worker) {
    if (progress_ == Progress::thread || progress_ == Progress::pinned) return false;
    bool has_done = of(worker).progress() != 0;
    if (first_of_followups_ != 0) has_done |= followups_of(worker).progress() != 0;
    // Devices without a worker of their own, or whose workers block.
    if (count_ > 1 && (worker == 0 || worker >= workers_))
      for (auto& endpoint : endpoints_) has_done |= endpoint->progress() != 0;
    return has_done;
  }

  /// Sleeps until end_sleep(), or something else ends the wait, at most `longest`. `naps`: what arrives may
  /// not end it, so that it looks again soon; so it does with several devices, of which one ends the sleep.
  void park(unsigned worker, Timeout longest, bool naps) {
    waking_.is_set.store(false, std::memory_order_relaxed);
    if (naps || have_threads() || devices_.size() > 1)
      longest = Timeout::of_nanoseconds(longest.count() > 0 ? std::min(longest.count(), kNap) : kNap);
    // Idle by design: what tasks wait for is told by the runtime of tasks.
    static_cast<void>(of(worker).wait_condition(
        {[](const void* waking) noexcept { return static_cast<const Waking*>(waking)->ready(); },
         &waking_,
         &waking_,
         {.what = "tasks", .is_idle = true}},
        longest));
  }
  void end_sleep() noexcept { waking_.set(); }
  /// end_sleep() for signals, which come often.
  void end_sleep_once() noexcept {
    if (!waking_.is_set.load(std::memory_order_relaxed)) waking_.set();
  }

 private:
  static constexpr std::int64_t kNap = 50'000;
  struct Waking final : weft::Completion {
    ~Waking() override { retire(); }
    void signal(weft::Message&) noexcept override { set(); }
    bool ready() const noexcept override { return is_set.load(std::memory_order_acquire); }
    void set() noexcept {
      is_set.store(true, std::memory_order_release);
      notify_waiters();
    }
    std::atomic<bool> is_set{false};
  };

  std::unique_ptr<weft::Runtime> runtime_;
  const Progress progress_;
  const unsigned count_;               // devices over which workers spread
  const unsigned first_of_followups_;  // 0: they share these
  unsigned workers_ = 0;
  std::vector<std::unique_ptr<weft::Device>> devices_;
  std::vector<std::unique_ptr<weft::Endpoint>> endpoints_;
  Waking waking_;
  std::vector<std::unique_ptr<weft::ProgressThread>> threads_;
};

/// Passes the failures of ranks on.
template <class Port>
class FailureSignal final : public weft::Completion {
 public:
  explicit FailureSignal(Port& port) noexcept : port_(port) {}
  ~FailureSignal() override { retire(); }
  void signal(weft::Message& message) noexcept override { port_.peer_failed(message.peer()); }
  bool ready() const noexcept override { return true; }

 private:
  Port& port_;
};

}  // namespace weft::parcel
