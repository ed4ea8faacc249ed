// A complete, independent set of network resources.
#pragma once

#include <weft/attributes.hpp>
#include <weft/detail/device_path.hpp>
#include <weft/options.hpp>
#include <weft/packet.hpp>
#include <weft/runtime.hpp>

namespace weft {

namespace detail {
class DeviceState;
}

/// Opening is not collective; any thread may open devices at any time, and device i may talk to any device
/// j of a peer. Threads on different devices share no cache line on the data path.
///
/// Destruction waits, within the attribute drain_timeout, until what the device sent has been consumed.
class WEFT_API Device {
 public:
  /// Throws weft::Error when the index is out of range or already open.
  explicit Device(Runtime& runtime, const DeviceOptions& options = {});
  ~Device();
  Device(Device&&) noexcept;
  Device& operator=(Device&&) = delete;

  [[nodiscard]] std::uint32_t index() const noexcept;
  [[nodiscard]] DeviceAttributes attributes() const noexcept;
  /// What this device has counted since it was opened. Any thread.
  [[nodiscard]] RuntimeCounters counters() const noexcept;
  /// A packet of the runtime's pool, or none when it is empty. Any thread.
  [[nodiscard]] Packet get_packet() noexcept;

  [[nodiscard]] detail::DeviceState& state() const noexcept { return *state_; }

 private:
  std::shared_ptr<detail::DeviceState> state_;
};

}  // namespace weft
