// Sends on what has been accepted while the program makes no call that would.
#pragma once

#include "network/session/courier/call_bell.hpp"
#include "network/session/courier/staging_state.hpp"

#include <weft/detail/device_path.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

namespace weft::network::session {

/// What the courier visits. Any thread, also beside a SerialEndpoint.
class Laden {
 public:
  /// Returns true when something waits that the owner's next call would send.
  [[nodiscard]] virtual bool is_laden() const noexcept = 0;
  /// Changes whenever what is staged is sent.
  [[nodiscard]] virtual std::uint64_t round() const noexcept = 0;
  /// Sends what waits, as far as there is room; delivers nothing. Does nothing while another thread is
  /// inside.
  virtual void carry() noexcept = 0;

 protected:
  ~Laden() = default;
};

/// A thread of a rank that visits the devices on which something waits to leave and that no call of the
/// program has driven since its last look, a millisecond ago. So a staged message leaves within two
/// milliseconds, whatever the program does. Sleeps while nothing waits.
class Courier {
 public:
  Courier() = default;
  ~Courier() { stop(); }
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  /// Looks after the device of this index until stop(), which must come before its end. Starts the thread.
  /// Returns false when there is no thread to be had: then nothing may be staged.
  bool add(std::uint32_t index, Laden& device) noexcept;
  /// Something begins to wait: called after Laden::is_laden() has become true. Any thread; wakes the
  /// courier if it sleeps, which is the only system call.
  void call() noexcept {
    if (bell_.is_asleep()) [[unlikely]]
      wake();
  }
  /// Ends the thread. One thread at a time.
  void stop() noexcept;
  /// Visits all laden devices; returns false when there were none. For the exit of the process.
  bool visit_all() noexcept;

 private:
  [[nodiscard]] bool any_laden() const noexcept;
  bool visit_neglected() noexcept;
  void sleep_until_called() noexcept;
  void wake() noexcept;
  void run() noexcept;

  struct Slot {
    std::atomic<Laden*> device{nullptr};
    LastLook last_look;
  };
  std::array<Slot, detail::DevicePath::kMaxDevices> slots_;
  CallBell bell_;
  std::atomic<std::uint32_t> stops_{0};
  std::mutex mutex_;  // guards the start of the thread
  std::thread thread_;
};

}  // namespace weft::network::session
