// A device: composes its port and its protocols, and drives them: progress, drain. Posts are functions of the
// protocols (device_protocols.hpp), waits are in device_waits.hpp.
#pragma once

#include "base/fork_watch.hpp"
#include "core/device/device_waits.hpp"
#include "core/device/parts/device_arrivals.hpp"
#include "core/device/parts/device_deadlines.hpp"
#include "core/device/parts/device_endpoints.hpp"
#include "core/device/parts/device_failures.hpp"
#include "core/device/parts/device_protocols.hpp"
#include "core/runtime/open_device.hpp"
#include "network/network.hpp"

#include <weft/attributes.hpp>
#include <weft/counters.hpp>
#include <weft/detail/device_path.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft::detail {

class RuntimeState;

class DeviceState final : public OpenDevice {
  class Drain;  // what drain() does

 public:
  DeviceState(RuntimeState& runtime, std::uint32_t index);
  /// Waits until living peers have what was accepted for them, and reports what is dropped.
  ~DeviceState() override;
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;

  [[nodiscard]] DevicePath& path() noexcept { return path_; }
  [[nodiscard]] DeviceAttributes attributes() const noexcept;
  [[nodiscard]] RuntimeState& runtime() noexcept { return runtime_; }
  [[nodiscard]] DeviceProtocols& protocols() noexcept { return arrivals_.protocols(); }
  [[nodiscard]] const DeviceProtocols& protocols() const noexcept { return arrivals_.protocols(); }
  [[nodiscard]] DeviceEndpoints& endpoints() noexcept { return endpoints_; }
  [[nodiscard]] DeviceWaits& waits() noexcept { return waits_; }

  /// DeviceEndpoints::open() and close(), for all parts of the device.
  void open_endpoint(bool serial);
  void close_endpoint(bool serial) noexcept;
  /// Who calls the device itself, for what it sends on its own behalf.
  [[nodiscard]] core::Caller caller() const noexcept { return {endpoints_.is_serial()}; }
  std::size_t progress() noexcept;
  /// progress() for a program that calls it in its own loop: yields where polls stay empty on a core that
  /// other threads want.
  std::size_t poll() noexcept;
  /// Returns true when peers have accepted every message that was posted here. Any thread; only tries locks.
  [[nodiscard]] bool drained() noexcept;

  // What the runtime asks: see OpenDevice.
  [[nodiscard]] RuntimeCounters counters() noexcept override;
  bool take_unready(std::int32_t& peer, std::int32_t& id) noexcept override {
    return protocols().counts.unready.take(peer, id);
  }
  [[nodiscard]] std::string user() const override { return endpoints_.user(); }
  bool carry() noexcept override;
  void quiesce() noexcept override;
  void give_way() noexcept override;
  bool describe(core::PendingList& list) noexcept override { return protocols().describe(list); }
  void describe_refusals(std::vector<std::string>& notes) const override;
  [[nodiscard]] std::size_t refused_posts() const noexcept override { return protocols().backlog.size(); }
  [[nodiscard]] bool has_buried(int peer) const noexcept override { return failures_.has_buried(peer); }
  void drop_unreceived(core::MatchingEngine& engine, core::MatchRecord& record) noexcept override {
    protocols().matched_messages.receiver().drop_probed(engine, record);
  }
  void cancel_queued(const QueuedReceives& which) noexcept override { protocols().cancel_queued(which); }
  [[nodiscard]] bool may_name(const Completion& object) const noexcept override {
    return protocols().may_name(object);
  }
  void forget_object(const Completion& object, core::DetachedOperations& instead) noexcept override {
    protocols().forget_object(object, instead);
  }
  void progress_for_end() noexcept override;

 private:
  void set_exclusive(bool exclusive) noexcept;
  [[gnu::noinline]] void check_deadlines_and_peers() noexcept;
  std::size_t progress_once() noexcept;
  [[gnu::noinline]] void give_way_when_due() noexcept;
  void drain() noexcept;
  void close_in_forked_child() noexcept;
  /// The real path.
  [[nodiscard]] DevicePath& lanes() noexcept { return hidden_path_ != nullptr ? *hidden_path_ : path_; }

  RuntimeState& runtime_;
  DevicePath path_;
  // While a trace is made, holds the real path, and path_ is empty: inlined posts find no lane and take the
  // slow path.
  const std::unique_ptr<DevicePath> hidden_path_;
  std::unique_ptr<network::Port> port_;
  DeviceEndpoints endpoints_;
  const std::uint64_t arrivals_before_;  // the credit ledger's count when the device was opened
  DeviceArrivals arrivals_;
  const bool poll_yield_;
  core::DeviceDeadlines deadlines_;
  core::DeviceFailures failures_;
  DeviceWaits waits_;
  const base::ForkWatch fork_watch_{
      [](void* device) noexcept { static_cast<DeviceState*>(device)->close_in_forked_child(); }, this};
};

}  // namespace weft::detail
