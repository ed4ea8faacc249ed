// Visits of threads that do not use the device: the courier, threads that are about to block elsewhere, and
// the explainer.
#include "network/session/session_device.hpp"

#include "base/clock.hpp"

#include <cstdio>

namespace weft::network::session {

/// Holds the device while it lives, unless a thread is inside: then owns() is false.
class SessionDevice::Visit {
 public:
  explicit Visit(SessionDevice& device) noexcept : device_(device) {
    if (!device.gate_.try_visit()) return;
    owns_ = detail::TryLock::acquire(device.lock_);
    if (!owns_) device.gate_.end_visit();
  }
  ~Visit() {
    if (!owns_) return;
    detail::TryLock::release(device_.lock_);
    device_.gate_.end_visit();
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  [[nodiscard]] bool owns() const noexcept { return owns_; }

 private:
  SessionDevice& device_;
  bool owns_ = false;
};

bool SessionDevice::is_laden() const noexcept {
  return !is_stopped() &&
         (is_staging_.load(std::memory_order_relaxed) || owes_batch_.load(std::memory_order_relaxed) ||
          owes_credit_.load(std::memory_order_relaxed) || transport_->is_laden());
}

void SessionDevice::carry() noexcept {
  {
    const Visit visit(*this);
    if (!visit.owns() || is_stopped()) return;
    flush_links(true);
    transport_->carry(*this);
    // The program may have made its last call for long, and its peers end only when they have this credit.
    if (idle_drives_ == 0) {
      idle_drives_ = 1;
      idle_since_ = base::now_ns();
    }
    return_credit_when_idle();
    serve_links();
  }
  // What has been read meanwhile rings for no sleeping thread any more.
  if (pending_.load(std::memory_order_acquire) != 0 && parking_.has_parked())
    parking_.wake(~std::uint32_t{0});
}

void SessionDevice::describe_unsent(std::vector<std::string>& lines) {
  const Visit visit(*this);
  if (!visit.owns()) return;
  const auto add = [&](int rank, std::size_t bytes, std::int64_t since, const std::string& what) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.3f", static_cast<double>(base::now_ns() - since) * 1e-9);
    lines.push_back("device " + std::to_string(index_) + ": " + what + " to rank " + std::to_string(rank) +
                    ", " + std::to_string(bytes) + " bytes, for " + seconds + " s");
  };
  for (const Link* link = links_.load(std::memory_order_acquire); link != nullptr; link = link->next) {
    const StagedFrame& staged = link->staged;
    if (staged.frame != nullptr)
      add(link->rank, staged.size, staged.since,
          std::to_string(staged.messages) + " messages are staged, to leave together,");
    if (const Transport::Unsent unsent = transport_->unsent(*link); unsent.bytes != 0)
      add(link->rank, unsent.bytes, unsent.since, "messages wait until the network has room,");
  }
}

}  // namespace weft::network::session
