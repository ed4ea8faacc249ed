// What the network of a device reports, given to its protocols.
#pragma once

#include "core/device/parts/device_endpoints.hpp"
#include "core/device/parts/device_protocols.hpp"
#include "core/peer/peer_failures.hpp"
#include "network/network.hpp"

namespace weft::detail {

/// Holds the protocols themselves, so that a delivery finds them at a fixed distance.
class DeviceArrivals final : public network::Sink {
 public:
  DeviceArrivals(RuntimeState& runtime, std::uint32_t index, network::Port& port, DevicePath& path,
                 DevicePath& lanes, const DeviceEndpoints& endpoints);

  [[nodiscard]] DeviceProtocols& protocols() noexcept { return protocols_; }
  [[nodiscard]] const DeviceProtocols& protocols() const noexcept { return protocols_; }

  void deliver(network::Batch& batch) noexcept override;
  void reject(int peer, const char* what, std::uint64_t value) noexcept override;
  void access_completed(std::uint64_t token, Outcome outcome) noexcept override;
  void immediate_arrived(int peer, std::uint64_t immediate, std::size_t bytes) noexcept override;
  void landed(std::uint64_t name, std::size_t bytes) noexcept override;

 private:
  template <class Messages>
  [[gnu::noinline]] void take_batch(Messages& messages, PayloadLender* lender) noexcept;
  [[gnu::noinline]] void take_from_slot(network::Batch& batch) noexcept;
  [[gnu::noinline]] void take_message(network::Batch& batch) noexcept;
  [[gnu::noinline]] bool deliver_slow(std::uint8_t channel, std::uint64_t word, Message& message) noexcept;
  bool deliver_control(std::uint8_t channel, std::uint64_t word, Message& message) noexcept;
  void on_cancel(std::uint64_t word, const Message& message) noexcept;

  DeviceProtocols protocols_;
  const DeviceEndpoints& endpoints_;
  const core::PeerFailures& failures_;
};

}  // namespace weft::detail
