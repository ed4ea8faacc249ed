// Devices: complete, independent sets of network resources.
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

/// A complete, independent set of network resources. Opening is not collective; any thread may open devices
/// at any time, and device i may communicate with any device j of a peer. Threads on different devices share
/// no cache line on the data path.
///
/// The destructor waits until living peers have received the messages that this device has accepted for them,
/// as the destructor of Runtime does. Endpoints of the device must be destroyed before it: it names one that
/// still exists, and aborts.
class WEFT_API Device {
 public:
  /// Throws weft::Error when the index is out of range or already open.
  explicit Device(Runtime& runtime, const DeviceOptions& options = {});
  ~Device();
  Device(Device&&) noexcept;
  Device& operator=(Device&&) = delete;

  [[nodiscard]] std::uint32_t index() const noexcept;
  [[nodiscard]] DeviceAttributes attributes() const noexcept;
  /// The counters of this device since it was opened. Any thread.
  [[nodiscard]] RuntimeCounters counters() const noexcept;
  /// Takes a packet from the runtime's pool; returns an empty Packet when the pool is empty. Any thread.
  [[nodiscard]] Packet get_packet() noexcept;
  /// Returns true when every active message and send that was posted on this device before the call has been
  /// consumed by its peer, or has ended otherwise. This includes posts in the backlog and large messages,
  /// also those without a completion object, whose buffers may be reused from then on. A large send counts as
  /// consumed when its receive has it; over networks that put large messages (attribute rendezvous), where
  /// the bytes lie in the receiver's memory, just before its program is told. Puts, gets and atomic
  /// operations (see flush()), receives, and operations that are posted meanwhile are not considered. With
  /// the attribute rendezvous_device, large messages of all devices are considered.
  ///
  /// Any thread, also inside handlers; never waits and does not progress: this rank and its peers must
  /// progress for it to become true. May return false now and then although it holds. Over libfabric it also
  /// returns true when for one second only the network has still had messages to deliver.
  [[nodiscard]] bool drained() const noexcept;

  [[nodiscard]] detail::DeviceState& state() const noexcept { return *state_; }

 private:
  std::shared_ptr<detail::DeviceState> state_;
};

}  // namespace weft
