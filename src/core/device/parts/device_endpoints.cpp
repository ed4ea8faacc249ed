// What is destroyed after its device names the device, and ends the program: core/runtime/runtime_users.cpp.
#include "core/device/parts/device_endpoints.hpp"

#include "base/fork_watch.hpp"
#include "core/runtime/runtime_state.hpp"

#include <weft/error.hpp>

namespace weft::detail {

void DeviceEndpoints::open(bool serial) {
  base::refuse_in_forked_copy("Endpoint");
  std::int32_t open = open_.load(std::memory_order_relaxed);
  do {
    if (serial && open != 0)
      throw Error(ErrorClass::device, "device " + std::to_string(index_) +
                                          " has another endpoint already: a SerialEndpoint takes its " +
                                          "device for itself");
    if (!serial && open < 0)
      throw Error(ErrorClass::device, "device " + std::to_string(index_) +
                                          " belongs to a SerialEndpoint: open another device for " +
                                          "this Endpoint");
  } while (!open_.compare_exchange_weak(open, serial ? -1 : open + 1, std::memory_order_acq_rel));
}

void DeviceEndpoints::close(bool serial) noexcept {
  const bool is_last = serial || open_.load(std::memory_order_relaxed) == 1;
  if (is_last && !base::is_forked_copy())
    if (const std::string user = runtime_.users().last(static_cast<int>(index_)); !user.empty())
      refuse_early_end(name(serial ? "SerialEndpoint" : "Endpoint"), user);
  if (serial)
    open_.store(0, std::memory_order_release);
  else
    open_.fetch_sub(1, std::memory_order_release);
}

std::string DeviceEndpoints::user() const {
  if (std::string user = runtime_.users().last(static_cast<int>(index_)); !user.empty()) return user;
  const std::int32_t endpoints = open_.load(std::memory_order_relaxed);
  const std::string where = " (device " + std::to_string(index_) + ")";
  if (endpoints < 0) return "SerialEndpoint" + where;
  if (endpoints > 0) return "Endpoint" + where;
  return probed_.load(std::memory_order_relaxed) != 0 ? "MatchedMessage" + where : std::string();
}

void DeviceEndpoints::refuse_users() const {
  if (const std::string used_by = user(); !used_by.empty())
    refuse_early_end(
        "Device (index " + std::to_string(index_) + " of rank " + std::to_string(runtime_.rank()) + ")",
        used_by);
}

std::string DeviceEndpoints::name(const char* object) const {
  return std::string(object) + " (device " + std::to_string(index_) + " of rank " +
         std::to_string(runtime_.rank()) + ")";
}

}  // namespace weft::detail
