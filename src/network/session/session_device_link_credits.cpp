// Credits of links: how many messages of a class a peer has taken, told in batches, or when it asks.
#include "network/session/session_device.hpp"

#include "base/clock.hpp"

#include <algorithm>

namespace weft::network::session {

namespace {

bool is_behind(std::uint32_t count, std::uint32_t other) noexcept {
  return static_cast<std::int32_t>(count - other) < 0;
}

}  // namespace

bool SessionDevice::owes_credit(const Link& link) const noexcept {
  if (link.changes_heard != link.changes_told) return true;
  return std::any_of(link.lanes.begin(), link.lanes.end(), [&](const Lane& lane) {
    const std::uint32_t taken = lane.taken.load(std::memory_order_relaxed);
    const std::uint32_t told = lane.told.load(std::memory_order_relaxed);
    const std::uint32_t batch = returns_all_credit_ ? 1 : lane.batch;
    return taken - told >= batch || (taken != told && is_behind(told, lane.wanted));
  });
}

Sent SessionDevice::send_credit(Link& link) noexcept {
  Credit credit{{}, link.changes_heard, {}};
  for (std::size_t next = 0; next < kTrafficClasses; ++next) {
    credit.taken[next] = link.lanes[next].taken.load(std::memory_order_relaxed);
    credit.messages[next] = link.lanes[next].messages_taken.load(std::memory_order_relaxed);
  }
  const Sent sent = transport_->transmit(link, header(Kind::credit, 0, 0), bytes_of(credit));
  if (sent != Sent::yes) return sent;
  for (std::size_t next = 0; next < kTrafficClasses; ++next)
    link.lanes[next].told.store(credit.taken[next], std::memory_order_relaxed);
  link.changes_told = credit.handles;
  return sent;
}

Sent SessionDevice::send_ask(Link& link) noexcept {
  Ask ask{};
  for (std::size_t next = 0; next < kTrafficClasses; ++next) ask.sent[next] = link.lanes[next].sent;
  const Sent sent = transport_->transmit(link, header(Kind::ask, 0, 0), bytes_of(ask));
  if (sent != Sent::yes) return sent;
  for (Lane& lane : link.lanes) lane.asked_at = lane.sent;
  return sent;
}

/// A message of the class has left: times it now and then.
void SessionDevice::note_left(Link& link, TrafficClass traffic) noexcept {
  if (link.hold != 0) link.left_at = base::now_ns();
  if (!shared_.adapts || !link.round_trip.count()) return;
  const std::int64_t now = base::now_ns();
  if (!link.round_trip.is_due(now) || send_ask(link) != Sent::yes) return;
  link.timed_class = traffic;
  link.timed = link.lane(traffic).sent;
  link.round_trip.begin(now);
}

void SessionDevice::on_credit(Link& link, Bytes payload) noexcept {
  Credit credit{};
  if (!read_payload(credit, payload)) return reject(link.rank, "credit of a wrong length", payload.size());
  for (std::size_t next = 0; next < kTrafficClasses; ++next) {
    Lane& lane = link.lanes[next];
    if (credit.taken[next] - lane.returned > lane.under_way())
      return reject(link.rank, "credit for messages that were not sent", credit.taken[next]);
    if (credit.messages[next] - lane.messages_returned > lane.messages_under_way())
      return reject(link.rank, "credit for messages that were not sent", credit.messages[next]);
    if (const std::uint32_t count = credit.taken[next] - lane.returned; count != 0 && shared_.adapts) {
      const std::int64_t now = base::now_ns();
      lane.window.returned(count, now, link.round_trip.time());
      if (link.round_trip.is_under_way() && static_cast<std::size_t>(link.timed_class) == next &&
          !is_behind(credit.taken[next], link.timed)) {
        link.round_trip.end(now);
        const std::int64_t hold = hold_of(link.round_trip.time());
        link.hold = shared_.stages ? hold : 0;
        link.is_long.store(hold != 0, std::memory_order_relaxed);
      }
    }
    lane.returned = credit.taken[next];
    lane.messages_returned = credit.messages[next];
  }
  if (credit.handles - link.changes_taken > link.changes_sent - link.changes_taken)
    return reject(link.rank, "credit for handles that were not told", credit.handles);
  if (credit.handles != link.changes_taken) links_need_service_ = true;
  link.changes_taken = credit.handles;
}

void SessionDevice::on_ask(Link& link, Bytes payload) noexcept {
  Ask ask{};
  if (!read_payload(ask, payload)) return reject(link.rank, "question of a wrong length", payload.size());
  for (std::size_t next = 0; next < kTrafficClasses; ++next) link.lanes[next].wanted = ask.sent[next];
  links_need_service_ = true;
}

}  // namespace weft::network::session
