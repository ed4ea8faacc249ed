// Sending of messages: contact, admission of handles, credits, then the transport or a staged frame.
#include "network/session/session_device.hpp"

namespace weft::network::session {

/// Returns SendResult::sent when the link is open.
SendResult SessionDevice::approach(int peer, std::uint8_t device) noexcept {
  Guard guard(lock_);
  if (!guard) return SendResult::lock_contended;
  Link* link = links_.find(peer, device);
  if (link == nullptr) {
    const auto address = context_.shared.peers.find_now_and_then(peer, device);
    if (address.has_value()) link = contacts_.contact(peer, device, *address);
  }
  // A thread that only posts must also read the peer's hello; one that posts to many which are being reached
  // need not look again for each of them.
  if (link == nullptr || !transport_->is_reaching(*link) || is_drive_due()) drive();
  if (link != nullptr && link->open.load(std::memory_order_relaxed)) return SendResult::sent;
  return context_.shared.peers.has_left(peer) ? SendResult::peer_left : SendResult::not_ready;
}

/// `stageable`: the payload when it may be copied into a frame, else null; `staged` is called when it has
/// been.
template <class Transmit, class Staged>
SendResult SessionDevice::submit(const Outgoing& outgoing, const Bytes* stageable, const Transmit& transmit,
                                 const Staged& staged) noexcept {
  Link* link = links_.find(outgoing.peer, outgoing.device);
  // Pairs with the release in open_if_both_spoke().
  if (link == nullptr || !link->open.load(std::memory_order_acquire)) [[unlikely]] {
    const SendResult contacted = approach(outgoing.peer, outgoing.device);
    if (contacted != SendResult::sent) return contacted;
    link = links_.find(outgoing.peer, outgoing.device);
  }
  if (link->peer->has_left.load(std::memory_order_relaxed)) return SendResult::peer_left;
  Guard guard(lock_);
  if (!guard) return SendResult::lock_contended;
  if (is_stopped()) [[unlikely]]
    return SendResult::peer_left;
  const auto refuse = [&](SendResult why) {
    return context_.shared.peers.has_left(outgoing.peer) ? SendResult::peer_left : why;
  };
  if (outgoing.to_handle && link->peer->handles.admission(outgoing.word) != SendResult::sent) [[unlikely]] {
    drive();
    const SendResult admitted = link->peer->handles.admission(outgoing.word);
    if (admitted != SendResult::sent) return refuse(admitted);
  }
  if (stageable != nullptr && staging_.may_stage(*link, outgoing, stageable->size()) &&
      staging_.stage(*link, outgoing, *stageable)) {
    staged();
    return SendResult::sent;
  }
  // What has been staged in this class before leaves first.
  if (link->staged.frame != nullptr && link->staged.traffic == outgoing.traffic && !staging_.flush(*link)) {
    drive();
    if (link->staged.frame != nullptr) return refuse(SendResult::no_slot);
  }
  Lane& lane = link->lane(outgoing.traffic);
  const auto has_room = [&] {
    return lane.under_way() < lane.window.size() &&
           (urgency_of(outgoing.traffic) != Urgency::last || transport_->has_room_for_bulk());
  };
  if (!has_room()) {
    drive();
    if (!has_room()) return refuse(SendResult::no_slot);
  }
  const Header message = context_.header(kind_of(outgoing.traffic), outgoing.channel, outgoing.word);
  Sent sent = transmit(*link, message);
  if (sent == Sent::later) {
    drive();
    sent = transmit(*link, message);
  }
  if (sent == Sent::never) return SendResult::peer_left;
  if (sent == Sent::later) return refuse(SendResult::no_slot);
  ++lane.sent;
  ++lane.messages_sent;
  link->sent_in = staging_.round();
  credits_.note_left(*link, outgoing.traffic);
  return SendResult::sent;
}

SendResult SessionDevice::send(const Outgoing& outgoing, Bytes payload) noexcept {
  return submit(
      outgoing, &payload,
      [&](Link& link, const Header& header) { return transport_->transmit(link, header, payload); }, [] {});
}

SendResult SessionDevice::send_packet(const Outgoing& outgoing, std::uint32_t packet,
                                      std::size_t size) noexcept {
  const Bytes content(transport_->content_of_packet(packet), size);
  return submit(
      outgoing, content.data() == nullptr ? nullptr : &content,
      [&](Link& link, const Header& header) {
        return transport_->transmit_packet(link, header, packet, size);
      },
      [&] { transport_->release_packet(packet); });
}

}  // namespace weft::network::session
