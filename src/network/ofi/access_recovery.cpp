// What is done with accesses that have come back from a connection that was broken.
//
// The state of a target: some are under way still, and come back, too; then one is posted alone, or the
// question whether the target is there.
#include "base/clock.hpp"
#include "network/ofi/ofi_endpoint.hpp"
#include "network/ofi/provider_accesses.hpp"
#include "network/session/session_device.hpp"

#include <weft/error.hpp>

#include <utility>

namespace weft::network::ofi {

namespace {

constexpr std::uint32_t kMostUnanswered = 10;  // questions

}  // namespace

void ProviderAccesses::come_back(Record& record) noexcept {
  Target& target = *record.target;
  if (&record == target.alone) {
    target.is_asked = true;
    return;
  }
  record.next = std::exchange(target.again, &record);
  if (std::exchange(target.is_recovering, true)) return;
  recovering_.push_back(&target);  // has the room
}

/// Has no effect while something is under way.
void ProviderAccesses::recover(Target& target, session::SessionDevice& device) noexcept {
  if (target.under_way != 0) return;
  if (context_.peers.has_left(target.rank)) return end_all(target, device);
  if (target.alone == nullptr) {
    if (target.again == nullptr) {
      target.is_recovering = false;
      return;
    }
    target.alone = std::exchange(target.again, target.again->next);
  }
  if (target.unanswered < kMostUnanswered) {
    const ssize_t posted = post_again(target.is_asked ? target.question : *target.alone);
    // A rank that computes makes no connection for as long as that takes; one that has died has left.
    if (posted == 0 || posted == -FI_EAGAIN || !target.reach.refused(base::now_ns())) return;
  }
  context_.peers.mark_left(target.rank, "puts and gets do not reach it any more");
  end_all(target, device);
}

/// Returns what libfabric does: -FI_EAGAIN when the provider has no room, or no connection yet.
ssize_t ProviderAccesses::post_again(Record& record) noexcept try {
  return endpoints_.outgoing() != nullptr ? post(record) : -FI_EOPBADSTATE;
} catch (const Error& error) {
  context_.log.info([&] { return "an access cannot be posted again: " + std::string(error.what()); });
  return -FI_ENOMEM;
}

/// Without an answer the target is asked again.
void ProviderAccesses::on_answer(Target& target, bool is_there, session::SessionDevice& device) noexcept {
  if (!is_there) {
    ++target.unanswered;
    return;
  }
  target.is_asked = false;
  target.unanswered = 0;
  report(*target.alone, Outcome::refused, device);
}

void ProviderAccesses::end_all(Target& target, session::SessionDevice& device) noexcept {
  if (target.alone != nullptr) report(*target.alone, Outcome::peer_failed, device);
  while (target.again != nullptr)
    report(*std::exchange(target.again, target.again->next), Outcome::peer_failed, device);
  target.is_recovering = target.is_asked = false;
}

}  // namespace weft::network::ofi
