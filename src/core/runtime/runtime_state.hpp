// A runtime: the job, the network, and what devices share.
#pragma once

#include "base/attributes.hpp"
#include "base/fork_watch.hpp"
#include "base/log.hpp"
#include "bootstrap/bootstrap.hpp"
#include "core/completion/exposures.hpp"
#include "core/matching/matching_engines.hpp"
#include "core/memory/regions.hpp"
#include "core/packet/packet_pool.hpp"
#include "core/peer/peer_failures.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/rendezvous/payload_device.hpp"
#include "core/runtime/device_accounts.hpp"
#include "core/runtime/explainer.hpp"
#include "core/runtime/host_table.hpp"
#include "core/runtime/object_ends.hpp"
#include "core/runtime/open_device.hpp"
#include "core/runtime/runtime_devices.hpp"
#include "core/runtime/runtime_users.hpp"
#include "network/network.hpp"

#include <weft/attributes.hpp>
#include <weft/counters.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace weft::detail {

/// Makes the network that attributes and job ask for; supplied by api/, which knows the backends.
using NetworkFactory = std::function<std::unique_ptr<network::Network>(
    bootstrap::Bootstrap&, const base::Attributes&, const core::HostTable&, PayloadLender& copier)>;

/// What a layer above the core keeps for a runtime.
struct RuntimeAttachment {
  virtual ~RuntimeAttachment() = default;
};

class RuntimeState final {
 public:
  RuntimeState(base::Attributes attributes, std::unique_ptr<bootstrap::Bootstrap> bootstrap,
               const NetworkFactory& make_network, DeviceFactory make_device);
  ~RuntimeState();
  RuntimeState(const RuntimeState&) = delete;
  RuntimeState& operator=(const RuntimeState&) = delete;

  [[nodiscard]] bootstrap::Bootstrap& bootstrap() noexcept { return *bootstrap_; }
  [[nodiscard]] network::Network& network() noexcept { return *network_; }
  [[nodiscard]] const base::Attributes& attributes() const noexcept { return attributes_; }
  [[nodiscard]] const base::Log& log() const noexcept { return log_; }
  [[nodiscard]] core::PacketPool& pool() noexcept { return *pool_; }
  [[nodiscard]] Exposures& exposures() noexcept { return exposures_; }
  [[nodiscard]] core::Regions& regions() noexcept { return regions_; }
  [[nodiscard]] RuntimeUsers& users() noexcept { return users_; }
  [[nodiscard]] core::Counters& counters() noexcept { return counters_; }
  [[nodiscard]] RuntimeDevices& devices() noexcept { return devices_; }
  [[nodiscard]] DeviceAccounts& accounts() noexcept { return accounts_; }
  [[nodiscard]] ObjectEnds& objects() noexcept { return objects_; }
  /// The counters of all devices, and of what they share. Any thread, also inside handlers. In
  /// core/runtime/runtime_counters.cpp.
  [[nodiscard]] RuntimeCounters all_counters() noexcept;
  [[nodiscard]] core::MatchingEngines& matching_engines() noexcept { return matching_engines_; }
  /// Cancels the engine's receives and drops its messages.
  void close_matching_engine(std::uint32_t id) noexcept;
  /// The same of a context.
  void close_matching_context(ContextState& context) noexcept;
  /// Tells the contexts which ranks have failed. Any thread.
  void note_failures_in_contexts() noexcept;
  /// The device that moves payloads of large messages for the others; null: each moves its own.
  [[nodiscard]] core::PayloadDevice* payload_device() noexcept {
    return payload_device_index() < 0 ? nullptr : &payload_device_;
  }
  /// The index of the payload device; -1: there is none.
  [[nodiscard]] std::int64_t payload_device_index() const noexcept {
    return attributes_.integer(base::Attribute::rendezvous_device);
  }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] const core::HostTable& hosts() const noexcept { return hosts_; }
  /// Ranks below this one may be posted to; 0 in a forked child.
  [[nodiscard]] int reachable() const noexcept { return reachable_; }
  [[nodiscard]] core::PeerFailures& failures() noexcept { return failures_; }
  /// Finds the peers that have left and from which no open device will deliver anything any more. Only tries
  /// a lock.
  void find_silent_peers() noexcept;
  /// Ends the receives that only these peers could match, as far as the thread of this device may: those of
  /// shared engines, and of serial engines that are used with the device.
  void end_receives_from_silent_peers(std::uint32_t device) noexcept;

  /// Limits that all devices have in common, also before one is open. Any thread.
  [[nodiscard]] DeviceAttributes device_limits() const noexcept;
  /// Returns true when the destructor has begun: from then on only handlers post or receive.
  [[nodiscard]] bool is_ending() const noexcept { return is_ending_; }
  /// Called when the runtime ends: drops messages that have arrived and were never received; `device` tells
  /// their senders.
  void drop_unreceived(OpenDevice& device) noexcept;
  /// Threads that are about to park record here what they wait for; null: not recorded.
  [[nodiscard]] core::Waits* waits() noexcept {
    return explainer_ != nullptr ? &explainer_->waits() : nullptr;
  }
  /// Lists operations that have not ended, and in `notes` what could not be read. Any thread. In
  /// core/runtime/runtime_operations.cpp.
  void describe(core::PendingList& list, std::vector<std::string>& notes);
  /// Null unless the attribute `trace` asks for one.
  [[nodiscard]] core::Tracer* tracer() noexcept { return tracer_.get(); }
  /// The attachment of the runtime, which `make` has made at the first call; destroyed before anything else
  /// of the runtime. Any thread.
  template <class Make>
  [[nodiscard]] RuntimeAttachment& attachment(const Make& make) {
    const std::lock_guard lock(attachment_mutex_);
    if (attachment_ == nullptr) attachment_ = make();
    return *attachment_;
  }

 private:
  void print_counters() noexcept;
  void cancel_queued(const QueuedReceives& which) noexcept;
  template <class Which>
  void drop_waiting(core::MatchingEngine& engine, const Which& which) noexcept;
  class Undestroyed;

  const base::Attributes attributes_;
  const std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
  const int rank_;
  const int size_;
  const core::HostTable hosts_;
  int reachable_;
  const base::Log log_;
  const std::unique_ptr<core::Tracer> tracer_;  // written after everything else has ended
  const std::unique_ptr<core::MatchEventLog> matching_log_;
  core::Counters counters_;
  const std::unique_ptr<core::PacketPool, core::PacketPool::End> pool_;
  const std::unique_ptr<network::Network> network_;
  Exposures exposures_;
  core::Regions regions_;
  DeviceAccounts accounts_;  // receives signal deadlines until the engines are destroyed
  core::MatchingEngines matching_engines_;
  core::PeerFailures failures_;
  bool is_ending_ = false;
  RuntimeUsers users_;
  std::uint64_t unreceived_ = 0;  // messages dropped by drop_unreceived()
  core::PayloadDevice payload_device_;
  RuntimeDevices devices_;
  ObjectEnds objects_;
  std::mutex attachment_mutex_;  // guards the member below
  std::unique_ptr<RuntimeAttachment> attachment_;
  std::unique_ptr<Explainer> explainer_;  // its thread reads all of the above
  const base::ForkWatch fork_watch_{
      [](void* runtime) noexcept {
        static_cast<RuntimeState*>(runtime)->reachable_ = 0;
        static_cast<RuntimeState*>(runtime)->matching_engines_.set_fast_path_sources(0);
      },
      this};
};

}  // namespace weft::detail
