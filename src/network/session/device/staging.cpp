#include "network/session/device/staging.hpp"

#include "base/clock.hpp"

#include <cstring>

namespace weft::network::session {

namespace {

/// So many messages at least share a frame: with fewer, a frame saves less than the copies cost.
constexpr std::size_t kFewestInFrame = 4;

}  // namespace

bool Staging::may_stage(const Link& link, const Outgoing& outgoing, std::size_t size) const noexcept {
  const bool is_stageable =
      outgoing.traffic == TrafficClass::data || outgoing.traffic == TrafficClass::control;
  return is_allowed_ && is_stageable && kFewestInFrame * size <= context_.transport.frame_bytes() &&
         sizeof(Header) + bytes_in_frame(size) <= context_.transport.frame_bytes() &&
         (link.staged.frame != nullptr || link.sent_in == round() ||
          (link.hold != 0 && base::now_ns() - link.left_at < link.hold));
}

bool Staging::stage(Link& link, const Outgoing& outgoing, Bytes payload) noexcept {
  StagedFrame& staged = link.staged;
  const std::size_t room = bytes_in_frame(payload.size());
  if (staged.frame != nullptr &&
      (staged.traffic != outgoing.traffic || staged.size + room > context_.transport.frame_bytes()) &&
      !flush(link))
    return false;
  Lane& lane = link.lane(outgoing.traffic);
  if (staged.frame == nullptr) {
    if (lane.under_way() >= lane.window.size()) return false;
    staged.frame = context_.transport.take_frame();
    if (staged.frame == nullptr) return false;
    staged.size = sizeof(Header);
    staged.messages = 0;
    staged.traffic = outgoing.traffic;
    staged.since = base::now_ns();
    ++lane.sent;
    if (!link.is_listed) {
      link.is_listed = true;
      link.next_staged = links_;
      links_ = &link;
    }
    state_.begin();
    context_.shared.courier.call();
  }
  const FrameRecord record{outgoing.word, static_cast<std::uint32_t>(payload.size()), outgoing.channel, {}};
  std::byte* const at = staged.frame + staged.size;
  std::memcpy(at, &record, sizeof record);
  if (!payload.empty()) std::memcpy(at + sizeof record, payload.data(), payload.size());
  staged.size += room;
  ++staged.messages;
  ++lane.messages_sent;
  return true;
}

bool Staging::flush(Link& link) noexcept {
  StagedFrame& staged = link.staged;
  if (staged.frame == nullptr) return true;
  const Kind kind = kind_of(staged.traffic);
  Sent sent = Sent::later;
  if (staged.messages == 1) {
    // A message alone needs no frame: its header takes the place of its record.
    FrameRecord record{};
    std::byte* const at = staged.frame + sizeof(Header);
    std::memcpy(&record, at, sizeof record);
    const Header single = context_.header(kind, record.channel, record.word);
    std::memcpy(at, &single, sizeof single);
    sent =
        context_.transport.transmit_frame(link, staged.frame, sizeof(Header), sizeof single + record.bytes);
    if (sent == Sent::later) std::memcpy(at, &record, sizeof record);
  } else {
    Header whole = context_.header(kind, 0, 0);
    whole.flags = kIsFrame;
    std::memcpy(staged.frame, &whole, sizeof whole);
    sent = context_.transport.transmit_frame(link, staged.frame, 0, staged.size);
  }
  if (sent == Sent::later) return false;
  staged.frame = nullptr;
  credits_.note_left(link, staged.traffic);
  return true;
}

void Staging::flush_links(bool all) noexcept {
  state_.end_round();
  if (links_ == nullptr) return;
  for (Link** next = &links_; *next != nullptr;) {
    Link& link = **next;
    const bool is_held = !all && link.hold != 0 && link.staged.frame != nullptr &&
                         base::now_ns() - link.staged.since < link.hold;
    if (!is_held && flush(link)) {
      *next = link.next_staged;
      link.is_listed = false;
    } else {
      next = &link.next_staged;
    }
  }
  if (links_ == nullptr) state_.end();
}

}  // namespace weft::network::session
