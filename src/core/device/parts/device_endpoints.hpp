// The endpoints of a device, and what else of the program uses it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace weft::detail {

class RuntimeState;

class DeviceEndpoints {
 public:
  DeviceEndpoints(RuntimeState& runtime, std::uint32_t index) noexcept : runtime_(runtime), index_(index) {}

  /// Opens one serial endpoint, or any number of shared ones; throws weft::Error otherwise.
  void open(bool serial);
  void close(bool serial) noexcept;
  /// Returns true while a SerialEndpoint has the device.
  [[nodiscard]] bool is_serial() const noexcept { return open_.load(std::memory_order_relaxed) < 0; }
  /// Returns true while Endpoints have the device.
  [[nodiscard]] bool is_shared() const noexcept { return open_.load(std::memory_order_relaxed) > 0; }

  /// A MatchedMessage of the device has been made (1), or has ended (-1).
  void note_probed(int change) noexcept {
    probed_.fetch_add(static_cast<std::uint32_t>(change), std::memory_order_relaxed);
  }
  /// "Endpoint (device 3)": an object of the program that uses the device; empty: there is none. Any thread.
  [[nodiscard]] std::string user() const;
  /// Ends the program, with one line, when there is a user().
  void refuse_users() const;
  /// "Device (device 3 of rank 0)", for lines that name an object of the device.
  [[nodiscard]] std::string name(const char* object) const;

  /// The thread that is inside the device's SerialEndpoint, for programs compiled with assertions.
  struct SerialUser {
    std::atomic<std::uintptr_t> thread{0};
    std::atomic<const char*> call{nullptr};
  };
  [[nodiscard]] SerialUser& serial_user() noexcept { return serial_user_; }

 private:
  RuntimeState& runtime_;
  const std::uint32_t index_;
  std::atomic<std::int32_t> open_{0};     // -1: one serial endpoint
  std::atomic<std::uint32_t> probed_{0};  // MatchedMessages
  SerialUser serial_user_;
};

}  // namespace weft::detail
