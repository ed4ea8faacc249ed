// Parking of the threads of a device.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace weft::network::session {

/// One of the parked threads watches the network's descriptor, the others sleep on a futex; when the watching
/// thread leaves, another takes its place. Any thread.
class Parking {
 public:
  /// Throws weft::Error.
  Parking();
  ~Parking();
  Parking(const Parking&) = delete;
  Parking& operator=(const Parking&) = delete;

  [[nodiscard]] std::uint32_t token() const noexcept { return bell_.load(std::memory_order_seq_cst); }
  [[nodiscard]] bool has_parked() const noexcept { return parked_.load(std::memory_order_relaxed) != 0; }
  /// Returns after `limit`, when the token has changed, after wake() with a common bit, or, for one of the
  /// threads, when the descriptor `network` is readable. `network` is negative when the provider has no
  /// descriptor: sleeps are short then. Returns false when nothing but the time has ended the sleep.
  bool park(int network, std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept;
  void wake(std::uint32_t bits) noexcept;

 private:
  bool watch(int network, std::uint32_t token, std::chrono::nanoseconds limit) noexcept;

  int event_ = -1;
  std::atomic<std::uint32_t> bell_{0};
  std::atomic<std::uint32_t> parked_{0};
  std::atomic<bool> watched_{false};
};

}  // namespace weft::network::session
