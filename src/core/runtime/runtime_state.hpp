// A runtime: the job, the network, and what devices share.
#pragma once

#include "base/attributes.hpp"
#include "base/log.hpp"
#include "bootstrap/bootstrap.hpp"
#include "core/completion/exposures.hpp"
#include "core/deadline/deadlines.hpp"
#include "core/matching/credits.hpp"
#include "core/matching/matching_engine.hpp"
#include "core/memory/regions.hpp"
#include "core/packet/packet_pool.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/payload_device.hpp"
#include "core/runtime/explainer.hpp"
#include "core/runtime/peer_failures.hpp"
#include "network/network.hpp"

#include <weft/counters.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace weft::detail {

class DeviceState;

/// Makes the network that attributes and job call for; api/ supplies it, which knows the backends.
using NetworkFactory = std::function<std::unique_ptr<network::Network>(
    bootstrap::Bootstrap&, const base::Attributes&, PayloadLender& copier)>;

class RuntimeState {
 public:
  RuntimeState(base::Attributes attributes, std::unique_ptr<bootstrap::Bootstrap> bootstrap,
               const NetworkFactory& make_network);
  ~RuntimeState();
  RuntimeState(const RuntimeState&) = delete;
  RuntimeState& operator=(const RuntimeState&) = delete;

  [[nodiscard]] bootstrap::Bootstrap& bootstrap() noexcept { return *bootstrap_; }
  [[nodiscard]] network::Network& network() noexcept { return *network_; }
  [[nodiscard]] const base::Attributes& attributes() const noexcept { return attributes_; }
  [[nodiscard]] const base::Log& log() const noexcept { return log_; }
  [[nodiscard]] core::PacketPool& pool() noexcept { return pool_; }
  [[nodiscard]] Exposures& exposures() noexcept { return exposures_; }
  [[nodiscard]] core::Regions& regions() noexcept { return regions_; }
  [[nodiscard]] core::Counters& counters() noexcept { return counters_; }
  /// Of all devices, and of what they share. Any thread, also inside handlers. In counters.cpp.
  [[nodiscard]] RuntimeCounters all_counters() noexcept;
  [[nodiscard]] core::MatchingEngines& matching_engines() noexcept { return matching_engines_; }
  /// Cancels its receives and drops its messages.
  void close_matching_engine(std::uint32_t id) noexcept;
  /// The device that moves payloads of large messages for the others; null: each moves its own.
  [[nodiscard]] core::PayloadDevice* payload_device() noexcept {
    return payload_device_index() < 0 ? nullptr : &payload_device_;
  }
  /// Its index; -1: there is none.
  [[nodiscard]] std::int64_t payload_device_index() const noexcept {
    return attributes_.integer(base::Attribute::rendezvous_device);
  }
  /// What the device `index` owes its peers; made at the first call.
  core::CreditLedgers& credit_ledgers(std::uint32_t index);
  /// The operations with a timeout of the device `index`; made at the first call.
  core::Deadlines& deadlines(std::uint32_t index);
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  /// The sources from 0 up of which a receive may be posted without a look at who has failed: all ranks, or
  /// none once one has.
  [[nodiscard]] std::uint32_t usual_sources() const noexcept {
    return usual_sources_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] PeerFailures& failures() noexcept { return failures_; }
  /// Finds the failed peers of which no open device will deliver anything any more. Only tries a lock.
  void find_silent_peers() noexcept;
  /// Ends the receives that only they could match, as far as the thread of this device may: those of engines
  /// that are shared, and of serial ones that are used with the device.
  void end_receives_from_silent_peers(std::uint32_t device) noexcept;
  [[nodiscard]] const core::Limits& limits() const noexcept { return limits_; }

  /// Opens the device `index`, or the lowest that is not open. Throws weft::Error.
  std::shared_ptr<DeviceState> open_device(std::int32_t index);
  /// The device that endpoints use which name none: 0, opened at the first call.
  std::shared_ptr<DeviceState> default_device();
  void forget_device(std::uint32_t index) noexcept;
  /// Where threads that are about to park say what they wait for; null: nobody asks.
  [[nodiscard]] core::Waits* waits() noexcept {
    return explainer_ != nullptr ? &explainer_->waits() : nullptr;
  }
  /// Lists operations that have not ended, and in `notes` what could not be looked at. Any thread. In
  /// pending_operations.cpp.
  void describe(core::PendingList& list, std::vector<std::string>& notes);
  /// Null unless the attribute `trace` asks for one.
  [[nodiscard]] core::Tracer* tracer() noexcept { return tracer_.get(); }
  /// Keeps a completion object that operations may still signal until there are none any more.
  void destroy_at_end(std::unique_ptr<Completion> completion) noexcept;

 private:
  void quiesce() noexcept;
  void print_counters() noexcept;

  const base::Attributes attributes_;
  const std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
  const int rank_;
  const int size_;
  const base::Log log_;
  const std::unique_ptr<core::Tracer> tracer_;  // written when all else has ended
  core::Counters counters_;
  core::PacketPool pool_;
  const std::unique_ptr<network::Network> network_;
  Exposures exposures_;
  core::Regions regions_;
  core::Limits limits_{};
  // By device. Receives signal them until the engines are gone.
  std::vector<std::unique_ptr<core::Deadlines>> deadlines_;
  core::MatchingEngines matching_engines_;
  PeerFailures failures_;
  std::atomic<std::uint32_t> usual_sources_;
  core::PayloadDevice payload_device_;
  std::mutex mutex_;  // guards what follows; taken by set-up only
  std::vector<DeviceState*> devices_;
  std::vector<std::unique_ptr<Completion>> kept_completions_;
  std::vector<std::unique_ptr<core::CreditLedgers>> credit_ledgers_;  // by device
  std::mutex counting_mutex_;          // guards the two below; nothing waits for others while it is held
  std::vector<DeviceState*> counted_;  // devices that are open
  RuntimeCounters of_closed_devices_;
  std::mutex default_device_mutex_;  // guards what follows; taken before mutex_
  std::shared_ptr<DeviceState> default_device_;
  std::unique_ptr<Explainer> explainer_;  // the last: its thread looks at all of the above
};

}  // namespace weft::detail
