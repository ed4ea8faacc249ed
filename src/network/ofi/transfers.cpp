// Transfers to peers: injected, copied into a buffer of the endpoint, or sent from a packet.
#include "network/ofi/ofi_endpoint.hpp"

#include <cassert>
#include <cstring>

namespace weft::network::ofi {

using session::Kind;
using session::Sent;

namespace {

constexpr std::size_t kLargestInjected =
    256;  // injected messages are copied twice: larger ones are better sent without a copy
constexpr std::size_t kKeptFromBulk = 64;  // transfers that bulk messages leave to other classes

}  // namespace

bool OfiEndpoint::has_room_for_bulk() const noexcept { return free_sendings_.size() > kKeptFromBulk; }

OfiEndpoint::Sending* OfiEndpoint::take_sending() noexcept {
  if (free_sendings_.empty()) return nullptr;
  Sending* sending = free_sendings_.back();
  free_sendings_.pop_back();
  return sending;
}

void OfiEndpoint::end(Sending& sending) noexcept {
  if (sending.kind == Transfer::Kind::packet) context_.packets.release(sending.packet);
  sending.registration.reset();
  sending.link = nullptr;
  (sending.kind == Transfer::Kind::frame ? free_frames_ : free_sendings_).push_back(&sending);
}

std::byte* OfiEndpoint::take_frame() noexcept {
  if (free_frames_.empty()) return nullptr;
  Sending* const sending = free_frames_.back();
  free_frames_.pop_back();
  sending->kind = Transfer::Kind::frame;
  return sending->bytes;
}

Sent OfiEndpoint::transmit_frame(session::Link& link, std::byte* frame, std::size_t begin,
                                 std::size_t size) noexcept {
  const auto stride = static_cast<std::size_t>(frames_[1].bytes - frames_[0].bytes);
  Sending& sending = frames_[static_cast<std::size_t>(frame - frames_[0].bytes) / stride];
  if (is_closed(link)) {
    end(sending);
    return Sent::never;
  }
  const bool is_injected = size <= inject_bytes_ && size <= kLargestInjected;
  sending.link = &link;
  const Sent sent = outcome(
      link, is_injected ? ::fi_inject(endpoint_.get(), frame + begin, size, link.address)
                        : ::fi_send(endpoint_.get(), frame + begin, size,
                                    descriptor_of(sending_registration_), link.address, &sending.raw));
  if (sent == Sent::later) sending.link = nullptr;
  if (sent == Sent::never || (sent == Sent::yes && is_injected)) end(sending);
  return sent;
}

Sent OfiEndpoint::outcome(session::Link& link, ssize_t result) noexcept {
  if (result == 0) {
    note_sent();
    return Sent::yes;
  }
  if (result == -FI_EAGAIN || result == -FI_ENOMEM) return Sent::later;
  context_.peers.mark_left(link.rank, "a message cannot be sent: " + error_text(result));
  return Sent::never;
}

void OfiEndpoint::note_sent() noexcept {
  drives_left_ = kDrivesAfterSending;
  if (!is_laden_.load(std::memory_order_relaxed)) is_laden_.store(true, std::memory_order_relaxed);
  context_.courier.call();
}

void OfiEndpoint::note_driven() noexcept {
  if (drives_left_ != 0)
    --drives_left_;
  else if (free_sendings_.size() == sendings_.size() && free_frames_.size() == frames_.size() &&
           (accesses_ == nullptr || !accesses_->are_under_way()) && is_laden_.load(std::memory_order_relaxed))
    is_laden_.store(false, std::memory_order_relaxed);
}

Sent OfiEndpoint::transmit(session::Link& link, const session::Header& header, Bytes payload) noexcept {
  if (is_closed(link)) return Sent::never;
  const std::size_t size = sizeof header + payload.size();
  // A goodbye must have left before this rank ends: it is sent with a completion.
  if (size <= inject_bytes_ && size <= kLargestInjected && header.kind != Kind::goodbye) {
    std::byte message[kLargestInjected];
    std::memcpy(message, &header, sizeof header);
    if (!payload.empty()) std::memcpy(message + sizeof header, payload.data(), payload.size());
    return outcome(link, ::fi_inject(endpoint_.get(), message, size, link.address));
  }
  assert(payload.size() <= sending_bytes_);
  Sending* sending = take_sending();
  if (sending == nullptr) return Sent::later;
  std::memcpy(sending->bytes, &header, sizeof header);
  if (!payload.empty()) std::memcpy(sending->bytes + sizeof header, payload.data(), payload.size());
  sending->kind = header.kind == Kind::goodbye ? Transfer::Kind::goodbye : Transfer::Kind::copied;
  sending->link = &link;
  const Sent sent =
      outcome(link, ::fi_send(endpoint_.get(), sending->bytes, size, descriptor_of(sending_registration_),
                              link.address, &sending->raw));
  if (sent != Sent::yes) end(*sending);
  return sent;
}

/// Sends the first `size` bytes of the packet of `sending` behind a header: one piece of memory when the
/// packet has room for the header, else two, or a copy where a provider takes one piece only.
ssize_t OfiEndpoint::send_packet(const session::Link& link, const session::Header& header, Sending& sending,
                                 std::size_t size) noexcept {
  const std::size_t whole = sizeof header + size;
  if (!context_.packets.is_foreign()) {
    std::byte* message = context_.packets.message(sending.packet);
    std::memcpy(message, &header, sizeof header);
    return ::fi_send(endpoint_.get(), message, whole, context_.packets.descriptor(), link.address,
                     &sending.raw);
  }
  std::byte* payload = context_.packets.payload(sending.packet);
  std::memcpy(sending.bytes, &header, sizeof header);
  void* own = descriptor_of(sending_registration_);
  if (size == 0 || !has_two_pieces_) {
    if (size != 0) std::memcpy(sending.bytes + sizeof header, payload, size);
    return ::fi_send(endpoint_.get(), sending.bytes, whole, own, link.address, &sending.raw);
  }
  const iovec pieces[] = {{sending.bytes, sizeof header}, {payload, size}};
  void* descriptors[] = {own, context_.packets.descriptor()};
  return ::fi_sendv(endpoint_.get(), pieces, descriptors, 2, link.address, &sending.raw);
}

Sent OfiEndpoint::transmit_packet(session::Link& link, const session::Header& header, std::uint32_t packet,
                                  std::size_t size) noexcept {
  if (is_closed(link)) return Sent::never;
  Sending* sending = take_sending();
  if (sending == nullptr) return Sent::later;
  sending->kind = Transfer::Kind::packet;
  sending->packet = packet;
  sending->link = &link;
  const Sent sent = outcome(link, send_packet(link, header, *sending, size));
  if (sent != Sent::yes) {
    sending->kind = Transfer::Kind::copied;  // so that end() does not release it
    end(*sending);
  }
  return sent;
}

}  // namespace weft::network::ofi
