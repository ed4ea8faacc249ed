// Staging: small messages that follow one another leave together in a frame.
//
// The first message to a peer since the last poll leaves at once. Those that follow are staged, and leave
// when the frame is full, when a message of another class follows, at the next poll (where the way to the
// peer is long: at the next one after a small part of a round trip, pacing/round_trip.hpp), before a thread
// parks or waits for other ranks, or when the courier has seen that none of these happens.
#include "network/session/session_device.hpp"

#include "base/clock.hpp"

#include <cstring>

namespace weft::network::session {

namespace {

/// Larger payloads gain less from a common frame than the copy costs.
constexpr std::size_t kLargestStaged = 512;

}  // namespace

bool SessionDevice::may_stage(const Link& link, const Outgoing& outgoing, std::size_t size) const noexcept {
  const bool is_stageable =
      outgoing.traffic == TrafficClass::data || outgoing.traffic == TrafficClass::control;
  return may_stage_ && is_stageable && size <= kLargestStaged &&
         sizeof(Header) + bytes_in_frame(size) <= transport_->frame_bytes() &&
         (link.staged.frame != nullptr || link.sent_in == round() ||
          (link.hold != 0 && base::now_ns() - link.left_at < link.hold));
}

/// Returns false, without effect on the message, when there is no frame or no credit for one.
bool SessionDevice::stage(Link& link, const Outgoing& outgoing, Bytes payload) noexcept {
  StagedFrame& staged = link.staged;
  const std::size_t room = bytes_in_frame(payload.size());
  if (staged.frame != nullptr &&
      (staged.traffic != outgoing.traffic || staged.size + room > transport_->frame_bytes()) && !flush(link))
    return false;
  Lane& lane = link.lane(outgoing.traffic);
  if (staged.frame == nullptr) {
    if (lane.under_way() >= lane.window.size()) return false;
    staged.frame = transport_->take_frame();
    if (staged.frame == nullptr) return false;
    staged.size = sizeof(Header);
    staged.messages = 0;
    staged.traffic = outgoing.traffic;
    staged.since = base::now_ns();
    ++lane.sent;
    if (!link.is_listed) {
      link.is_listed = true;
      link.next_staged = staged_links_;
      staged_links_ = &link;
    }
    is_staging_.store(true, std::memory_order_relaxed);
    shared_.courier.call();
  }
  const FrameRecord record{outgoing.word, static_cast<std::uint32_t>(payload.size()), outgoing.channel, {}};
  std::byte* const place = staged.frame + staged.size;
  std::memcpy(place, &record, sizeof record);
  if (!payload.empty()) std::memcpy(place + sizeof record, payload.data(), payload.size());
  staged.size += room;
  ++staged.messages;
  ++lane.messages_sent;
  return true;
}

/// Sends what is staged. Returns false when the transport has no room now.
bool SessionDevice::flush(Link& link) noexcept {
  StagedFrame& staged = link.staged;
  if (staged.frame == nullptr) return true;
  const Kind kind = kind_of(staged.traffic);
  Sent sent = Sent::later;
  if (staged.messages == 1) {
    // A message alone needs no frame: its header takes the place of its record.
    FrameRecord record{};
    std::byte* const place = staged.frame + sizeof(Header);
    std::memcpy(&record, place, sizeof record);
    const Header single = header(kind, record.channel, record.word);
    std::memcpy(place, &single, sizeof single);
    sent = transport_->transmit_frame(link, staged.frame, sizeof(Header), sizeof single + record.bytes);
    if (sent == Sent::later) std::memcpy(place, &record, sizeof record);
  } else {
    Header whole = header(kind, 0, 0);
    whole.flags = kIsFrame;
    std::memcpy(staged.frame, &whole, sizeof whole);
    sent = transport_->transmit_frame(link, staged.frame, 0, staged.size);
  }
  if (sent == Sent::later) return false;
  staged.frame = nullptr;
  note_left(link, staged.traffic);
  return true;
}

bool SessionDevice::flush_staged(bool exclusive) noexcept {
  const Guard guard(*this, exclusive);
  if (!guard) return false;
  flush_links(true);
  return staged_links_ == nullptr;
}

/// `all`: also those that are held for further messages.
void SessionDevice::flush_links(bool all) noexcept {
  round_.store(round() + 1, std::memory_order_relaxed);
  if (staged_links_ == nullptr) return;
  for (Link** place = &staged_links_; *place != nullptr;) {
    Link& link = **place;
    const bool is_held = !all && link.hold != 0 && link.staged.frame != nullptr &&
                         base::now_ns() - link.staged.since < link.hold;
    if (!is_held && flush(link)) {
      *place = link.next_staged;
      link.is_listed = false;
    } else {
      place = &link.next_staged;
    }
  }
  if (staged_links_ == nullptr) is_staging_.store(false, std::memory_order_relaxed);
}

}  // namespace weft::network::session
