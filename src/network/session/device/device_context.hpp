// What the parts of a device have in common.
#pragma once

#include "base/log.hpp"
#include "network/session/courier/courier.hpp"
#include "network/session/link/handle_board.hpp"
#include "network/session/link/message_format.hpp"
#include "network/session/link/peers.hpp"
#include "network/session/link/transport.hpp"

#include <atomic>
#include <cstdint>
#include <vector>

namespace weft::network::session {

/// Resources that the devices of a rank share.
struct Shared {
  Peers& peers;
  HandleBoard& board;
  const base::Log& log;
  std::uint32_t credits;  // messages that may be under way between two devices in one class
  std::uint32_t first;    // of these: as long as no round trip is known
  bool adapts;            // windows follow bandwidth and delay
  std::uint32_t held;     // received messages of each peer's device that the program may hold
  bool stages;            // attribute staging
  Courier& courier;
};

/// An error that poll() reports to the Sink.
struct Rejection {
  int rank;
  const char* what;
  std::uint64_t value;
};

/// Under the device's lock, but for what says otherwise.
class DeviceContext {
 public:
  DeviceContext(const Shared& resources, std::uint8_t number, Transport& carrier) noexcept
      : shared(resources), index(number), transport(carrier), buffers(carrier.buffers()) {}
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  /// The header of a message of this device. Any thread.
  [[nodiscard]] Header header(Kind kind, std::uint8_t channel, std::uint64_t word) const noexcept;
  /// Notes an error of a peer for the next poll.
  void reject(int rank, const char* what, std::uint64_t value) noexcept;
  [[nodiscard]] bool has_rejections() const noexcept {
    return has_rejections_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::vector<Rejection> take_rejections() noexcept;

  const Shared& shared;
  const std::uint8_t index;
  Transport& transport;
  ReceiveBuffers& buffers;
  bool links_need_service = false;  // what waits for peers is sent by the next drive, or the present one

 private:
  std::vector<Rejection> rejections_;
  std::atomic<bool> has_rejections_{false};
};

}  // namespace weft::network::session
