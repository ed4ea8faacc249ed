#include "network/session/device/link_credits.hpp"

#include "base/clock.hpp"

#include <algorithm>

namespace weft::network::session {

namespace {

/// Credits are returned in batches, and when they are asked for; the rest is returned, by the courier where
/// the program makes no call, when nothing has come for long: this rank may not be there to answer when a
/// peer that ends asks whether everything has been taken. Not soon, because a credit for each message would
/// double what is sent.
constexpr std::int64_t kIdleFor = 10'000'000;  // nanoseconds
constexpr std::uint32_t kIdleDrivesPerClock = 64;

bool is_behind(std::uint32_t count, std::uint32_t other) noexcept {
  return static_cast<std::int32_t>(count - other) < 0;
}

}  // namespace

bool LinkCredits::owes(const Link& link) const noexcept {
  if (link.changes_heard != link.changes_reported) return true;
  return std::any_of(link.lanes.begin(), link.lanes.end(), [&](const Lane& lane) {
    const std::uint32_t unreported = lane.taken.unreported();
    const std::uint32_t batch = returns_all_ ? 1 : lane.batch;
    return unreported >= batch || (unreported != 0 && is_behind(lane.taken.reported(), lane.wanted));
  });
}

Sent LinkCredits::send(Link& link) noexcept {
  Credit credit{{}, link.changes_heard, {}};
  for (std::size_t next = 0; next < kTrafficClasses; ++next) {
    credit.taken[next] = link.lanes[next].taken.whole();
    credit.messages[next] = link.lanes[next].taken.messages();
  }
  const Sent sent = context_.transport.transmit(link, context_.header(Kind::credit, 0, 0), bytes_of(credit));
  if (sent != Sent::yes) return sent;
  for (std::size_t next = 0; next < kTrafficClasses; ++next)
    link.lanes[next].taken.report(credit.taken[next]);
  link.changes_reported = credit.handles;
  return sent;
}

Sent LinkCredits::ask(Link& link) noexcept {
  Ask ask{};
  for (std::size_t next = 0; next < kTrafficClasses; ++next) ask.sent[next] = link.lanes[next].sent;
  const Sent sent = context_.transport.transmit(link, context_.header(Kind::ask, 0, 0), bytes_of(ask));
  if (sent != Sent::yes) return sent;
  for (Lane& lane : link.lanes) lane.asked_at = lane.sent;
  return sent;
}

void LinkCredits::note_left(Link& link, TrafficClass traffic) noexcept {
  if (link.hold != 0) link.left_at = base::now_ns();
  if (!context_.shared.adapts || !link.round_trip.count()) return;
  const std::int64_t now = base::now_ns();
  if (!link.round_trip.is_due(now) || ask(link) != Sent::yes) return;
  link.timed_class = traffic;
  link.timed = link.lane(traffic).sent;
  link.round_trip.begin(now);
}

void LinkCredits::on_credit(Link& link, Bytes payload) noexcept {
  Credit credit{};
  if (!read_payload(credit, payload))
    return context_.reject(link.rank, "credit of a wrong length", payload.size());
  for (std::size_t next = 0; next < kTrafficClasses; ++next) {
    Lane& lane = link.lanes[next];
    if (credit.taken[next] - lane.returned > lane.under_way())
      return context_.reject(link.rank, "credit for messages that were not sent", credit.taken[next]);
    if (credit.messages[next] - lane.messages_returned > lane.messages_under_way())
      return context_.reject(link.rank, "credit for messages that were not sent", credit.messages[next]);
    if (const std::uint32_t count = credit.taken[next] - lane.returned;
        count != 0 && context_.shared.adapts) {
      const std::int64_t now = base::now_ns();
      lane.window.returned(count, now, link.round_trip.time());
      if (link.round_trip.is_under_way() && static_cast<std::size_t>(link.timed_class) == next &&
          !is_behind(credit.taken[next], link.timed)) {
        link.round_trip.end(now);
        const std::int64_t hold = hold_of(link.round_trip.time());
        link.hold = context_.shared.stages ? hold : 0;
        link.is_long.store(hold != 0, std::memory_order_relaxed);
      }
    }
    lane.returned = credit.taken[next];
    lane.messages_returned = credit.messages[next];
  }
  if (credit.handles - link.changes_taken > link.changes_sent - link.changes_taken)
    return context_.reject(link.rank, "credit for handles that were not reported", credit.handles);
  if (credit.handles != link.changes_taken) context_.links_need_service = true;
  link.changes_taken = credit.handles;
}

void LinkCredits::on_ask(Link& link, Bytes payload) noexcept {
  Ask ask{};
  if (!read_payload(ask, payload))
    return context_.reject(link.rank, "question of a wrong length", payload.size());
  for (std::size_t next = 0; next < kTrafficClasses; ++next) link.lanes[next].wanted = ask.sent[next];
  context_.links_need_service = true;
}

void LinkCredits::note_taken(const Lane& lane) noexcept { due_.note(lane.taken.unreported() >= lane.batch); }

void LinkCredits::look() noexcept {
  // owes() decides whether it is really due.
  if (due_.take_due()) context_.links_need_service = true;
  if (idle_drives_ == 1) idle_since_ = base::now_ns();
  if (idle_drives_ % kIdleDrivesPerClock == 0) return_when_idle();
}

void LinkCredits::begin_idle() noexcept {
  if (idle_drives_ != 0) return;
  idle_drives_ = 1;
  idle_since_ = base::now_ns();
}

void LinkCredits::return_when_idle() noexcept {
  if (!due_.is_owed() || idle_drives_ == 0) return;
  if (base::now_ns() - idle_since_ >= kIdleFor) returns_all_ = true;
}

void LinkCredits::begin_round() noexcept {
  if (returns_all_) due_.begin_to_report_all();
}

void LinkCredits::end_round() noexcept {
  if (!context_.links_need_service)
    returns_all_ = false;
  else if (returns_all_)
    due_.owe_again();
}

}  // namespace weft::network::session
