#include "network/session/device/device_context.hpp"

#include <utility>

namespace weft::network::session {

Header DeviceContext::header(Kind kind, std::uint8_t channel, std::uint64_t word) const noexcept {
  return {word, static_cast<std::uint32_t>(shared.peers.rank()), index, channel, kind, 0};
}

void DeviceContext::reject(int rank, const char* what, std::uint64_t value) noexcept {
  constexpr std::size_t kKept = 64;  // rejections kept between two polls; more would tell nothing new
  if (rejections_.size() >= kKept) return;
  rejections_.push_back({rank, what, value});
  has_rejections_.store(true, std::memory_order_relaxed);
}

std::vector<Rejection> DeviceContext::take_rejections() noexcept {
  has_rejections_.store(false, std::memory_order_relaxed);
  return std::exchange(rejections_, {});
}

}  // namespace weft::network::session
