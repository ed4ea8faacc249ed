// The RDMA device that carries a rank's messages, one of its ports, and the domain in which its memory is
// registered.
#pragma once

#include "network/ibv/verbs/owned_objects.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weft::network::ibv {

/// Which device, port and GID a rank takes.
struct DeviceChoice {
  std::string_view device;   // "auto", or a name as ibv_devices(1) shows it, perhaps with ":" and a port
  std::int64_t gid_index{};  // negative: the preferred one
};

class Device {
 public:
  /// Opens the first device with an active port that fits. Throws weft::Error that names the problem.
  explicit Device(const DeviceChoice& choice);

  [[nodiscard]] ibv_context& context() const noexcept { return *context_; }
  [[nodiscard]] ibv_pd& domain() const noexcept { return *domain_; }
  [[nodiscard]] const ibv_device_attr& limits() const noexcept { return limits_; }
  [[nodiscard]] const ibv_port_attr& port() const noexcept { return port_; }
  [[nodiscard]] std::uint8_t port_number() const noexcept { return port_number_; }
  [[nodiscard]] const ibv_gid_entry& gid() const noexcept { return gid_; }
  /// Returns true when addresses need a global route.
  [[nodiscard]] bool is_ethernet() const noexcept { return port_.link_layer == IBV_LINK_LAYER_ETHERNET; }
  /// Returns true when the device carries out atomic operations on memory.
  [[nodiscard]] bool has_atomics() const noexcept { return limits_.atomic_cap != IBV_ATOMIC_NONE; }
  /// What peers may do with regions.
  [[nodiscard]] int remote_access() const noexcept {
    return IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | (has_atomics() ? IBV_ACCESS_REMOTE_ATOMIC : 0);
  }
  /// "rxe0 port 1, 10.0.2.15 (RoCE v2)"
  [[nodiscard]] std::string describe() const;

  /// Makes memory known to the device. `access`: of ibv_access_flags. Throws weft::Error.
  [[nodiscard]] Registration register_memory(std::span<std::byte> memory, int access);

 private:
  /// Returns false when the device has no such port that is active.
  bool open(ibv_device& device, std::string_view port);
  void choose_gid(std::int64_t index);

  std::string name_;
  Context context_;
  ProtectionDomain domain_;
  ibv_device_attr limits_{};
  ibv_port_attr port_{};
  std::uint8_t port_number_ = 0;
  ibv_gid_entry gid_{};
};

/// Makes calls that read events from a descriptor answer at once when there are none. Throws weft::Error.
void set_not_waiting(int descriptor, const char* what);

/// Memory that only this rank's own transfers use.
inline constexpr int kLocalAccess = IBV_ACCESS_LOCAL_WRITE;

}  // namespace weft::network::ibv
