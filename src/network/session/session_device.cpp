#include "network/session/session_device.hpp"

#include "base/clock.hpp"
#include "concurrent/process_barrier.hpp"

namespace weft::network::session {

namespace {

constexpr std::int64_t kBetweenDrives = 20'000;  // nanoseconds

}  // namespace

SessionDevice::SessionDevice(const Shared& shared, std::uint32_t index, std::unique_ptr<Transport> transport)
    : shared_(shared),
      index_(static_cast<std::uint8_t>(index)),
      transport_(std::move(transport)),
      buffers_(transport_->buffers()) {
  ended_fetches_.reserve(kMostFetches);
}

Header SessionDevice::header(Kind kind, std::uint8_t channel, std::uint64_t word) const noexcept {
  return {word, static_cast<std::uint32_t>(shared_.peers.rank()), index_, channel, kind, 0};
}

void SessionDevice::drive() noexcept {
  if (is_stopped()) return;
  if (idle_drives_ != ~std::uint32_t{0}) ++idle_drives_;
  flush_links(false);
  transport_->drive(*this);
  serve_links();
}

bool SessionDevice::is_drive_due() noexcept {
  const std::int64_t now = base::now_ns();
  if (now < next_drive_) return false;
  next_drive_ = now + kBetweenDrives;
  return true;
}

bool SessionDevice::prepare_park(bool exclusive) noexcept {
  concurrent::process_barrier();
  Guard guard(*this, exclusive);
  if (!guard) return false;
  return_credit_when_idle();
  flush_links(true);
  drive();
  return pending_.load(std::memory_order_relaxed) == 0 && !links_need_service_ && staged_links_ == nullptr &&
         ended_fetches_.empty() && !has_rejections_.load(std::memory_order_relaxed) &&
         !credit_is_due_.load(std::memory_order_relaxed);
}

bool SessionDevice::park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept {
  if (!transport_->may_sleep()) return true;
  return parking_.park(transport_->wait_descriptor(), token, bits,
                       std::min(limit, transport_->longest_sleep()));
}

bool SessionDevice::has_contacted(int rank) const noexcept {
  // Pairs with the release in contact(), which adds a link.
  for (const Link* link = links_.load(std::memory_order_acquire); link != nullptr; link = link->next)
    if (link->rank == rank) return true;
  return false;
}

}  // namespace weft::network::session
