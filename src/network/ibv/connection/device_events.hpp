// What a device tells beside its completions: failures of queue pairs, of a port, of itself.
#pragma once

#include "base/log.hpp"
#include "network/ibv/verbs/rdma_device.hpp"
#include "network/session/link/peers.hpp"

#include <cstdint>

namespace weft::network::ibv {

/// Any thread.
class DeviceEvents {
 public:
  /// Throws weft::Error.
  DeviceEvents(Device& device, session::Peers& peers, const base::Log& log);

  /// Readable when there is an event.
  [[nodiscard]] int descriptor() const noexcept { return device_.context().async_fd; }
  /// Takes the events that there are: peers whose queue pair has failed are lost, all of them when the device
  /// has. A system call.
  void look() noexcept;

  /// What a queue pair is given so that its events name the rank that it is connected with.
  [[nodiscard]] static void* mark_of(int rank) noexcept {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(rank) + 1);
  }
  /// What one for puts and gets is given: it may fail, which completions tell.
  [[nodiscard]] static void* mark_of_accesses() noexcept {
    return reinterpret_cast<void*>(~std::uintptr_t{0});
  }

 private:
  void handle(const ibv_async_event& event) noexcept;

  Device& device_;
  session::Peers& peers_;
  const base::Log& log_;
};

}  // namespace weft::network::ibv
