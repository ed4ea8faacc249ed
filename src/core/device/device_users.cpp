// What is destroyed after its device names the device, and ends the program: core/runtime/runtime_users.cpp.
#include "core/device/device_state.hpp"
#include "core/runtime/runtime_state.hpp"

#include <string>

namespace weft::detail {

std::string DeviceState::user() const {
  if (std::string user = runtime_.users().last(static_cast<int>(index_)); !user.empty()) return user;
  const std::int32_t endpoints = endpoints_.load(std::memory_order_relaxed);
  const std::string where = " (device " + std::to_string(index_) + ")";
  if (endpoints < 0) return "SerialEndpoint" + where;
  if (endpoints > 0) return "Endpoint" + where;
  return probed_.load(std::memory_order_relaxed) != 0 ? "MatchedMessage" + where : std::string();
}

void DeviceState::refuse_users() const {
  if (const std::string used_by = user(); !used_by.empty())
    refuse_early_end(
        "Device (index " + std::to_string(index_) + " of rank " + std::to_string(context_.rank) + ")",
        used_by);
}

std::string DeviceState::name(const char* object) const {
  return std::string(object) + " (device " + std::to_string(index_) + " of rank " +
         std::to_string(context_.rank) + ")";
}

}  // namespace weft::detail
