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

#include <weft/parcel/ports/wake_count.hpp>
#include "parcel/devices/progress_threads.hpp"

namespace weft::parcel {

/// Any thread, unless said otherwise.
class PortDevices {
 public:
  /// `of_followups`: further devices, for what follows a header, or none.
  PortDevices(std::unique_ptr<weft::Runtime> runtime, const RuntimeOptions& options,
              unsigned of_followups = 0)
      : runtime_(std::move(runtime)),
        progress_(options.progress),
        count_(options.devices),
        first_of_followups_(of_followups == 0 ? 0 : options.devices) {
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
    empty_polls_ = std::vector<Count>(workers);
    threads_ = make_progress_threads(devices_, progress_);
  }
  void stop() { threads_.clear(); }

  /// Progresses for a worker, unless only threads do. Returns whether anything has moved.
  bool progress(unsigned worker) {
    if (progress_ == Progress::thread || progress_ == Progress::pinned) return false;
    bool has_done = of(worker).progress() != 0;
    if (first_of_followups_ != 0) has_done |= followups_of(worker).progress() != 0;
    if (count_ > 1) has_done |= progress_others(worker, has_done);
    return has_done;
  }

  /// Parcelport::wakes(), which end_sleep() changes.
  [[nodiscard]] std::uint64_t wakes() const noexcept { return waking_.count.look(); }
  /// Parcelport::park(). `naps`: what arrives may not end it, so that it looks again soon; so it does with
  /// several devices, of which one ends the sleep.
  void park(unsigned worker, Timeout longest, std::uint64_t seen, bool naps) {
    if (!waking_.count.announce(seen)) return;
    if (naps || have_threads() || devices_.size() > 1)
      longest = Timeout::of_nanoseconds(longest.count() > 0 ? std::min(longest.count(), kNap) : kNap);
    // Idle by design: what tasks wait for is signalled by the runtime of tasks.
    const Sleep sleep{waking_, seen};
    static_cast<void>(of(worker).wait_condition(
        {[](const void* sleeping) noexcept { return static_cast<const Sleep*>(sleeping)->is_over(); },
         &sleep,
         &waking_,
         {.what = "tasks", .is_idle = true}},
        longest));
  }
  void end_sleep() noexcept { waking_.wake(); }
  /// end_sleep() for signals, which come often: for those who sleep.
  void end_sleep_once() noexcept {
    if (waking_.count.wake_sleepers()) waking_.notify();
  }

 private:
  /// Devices without a worker of their own, or whose workers compute or block for long.
  bool progress_others(unsigned worker, bool has_own) {
    bool has_done = false;
    if (worker == 0 || worker >= workers_) {
      for (auto& endpoint : endpoints_) has_done |= endpoint->progress() != 0;
      return has_done;
    }
    // Seldom, as those who work on them pay for it, and one at a time.
    if (has_own) return false;
    const std::uint32_t count = ++empty_polls_[worker].value;
    if (count % kEmptyPolls != 0) return false;
    return endpoints_[count / kEmptyPolls % endpoints_.size()]->progress() != 0;
  }

  static constexpr std::int64_t kNap = 50'000;
  static constexpr std::uint32_t kEmptyPolls = 8;
  struct alignas(64) Count {
    std::uint32_t value = 0;  // its worker's own
  };
  struct Waking final : weft::Completion {
    ~Waking() override { retire(); }
    void signal(weft::Message&) noexcept override { wake(); }
    bool ready() const noexcept override { return true; }
    void wake() noexcept {
      count.wake();
      notify();
    }
    void notify() noexcept { notify_waiters(); }
    WakeCount<> count;
  };
  struct Sleep {
    [[nodiscard]] bool is_over() const noexcept { return waking.count.has_come(seen); }
    const Waking& waking;
    const std::uint64_t seen;
  };

  std::unique_ptr<weft::Runtime> runtime_;
  const Progress progress_;
  const unsigned count_;               // devices over which workers spread
  const unsigned first_of_followups_;  // 0: they share these
  unsigned workers_ = 0;
  std::vector<Count> empty_polls_;
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
