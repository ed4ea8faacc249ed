#include "study/parcelports/connections/send_connection.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "study/parcelports/connections/connection_context.hpp"
#include "study/parcelports/connections/header_message.hpp"

namespace weft::parcel::ports {

SendConnection::SendConnection(ConnectionContext& context, int peer) noexcept
    : context_(context), peer_(peer), kind_(HeaderMessage::kParcels) {
  context_.live.fetch_add(1, std::memory_order_relaxed);
}
SendConnection::~SendConnection() { context_.live.fetch_sub(1, std::memory_order_release); }

bool SendConnection::try_send_small(ConnectionContext& context, int peer, Bytes parcels, unsigned worker) {
  auto message = std::make_unique<OutgoingMessage>();
  message->peer = -1;  // nobody waits for its end
  message->head.append(parcels);
  auto connection = std::make_unique<SendConnection>(context, peer);
  connection->message_ = std::move(message);
  connection->plan();
  if (!connection->write_header()) return false;
  std::unique_ptr<OutgoingMessage> unsent;
  return begin(connection.release(), unsent, worker);
}

bool SendConnection::try_send(ConnectionContext& context, std::unique_ptr<OutgoingMessage>& message,
                              unsigned worker) {
  auto connection = std::make_unique<SendConnection>(context, message->peer);
  connection->message_ = std::move(message);
  connection->plan();
  if (!connection->write_header()) {
    message = std::move(connection->message_);
    return false;
  }
  return begin(connection.release(), message, worker);
}

bool SendConnection::begin(SendConnection* connection, std::unique_ptr<OutgoingMessage>& unsent,
                           unsigned worker) {
  if (connection->resume(worker)) return true;
  ConnectionContext& context = connection->context_;
  if (connection->header_ == HeaderPart::message &&
      context.tags.give_back(connection->number_, connection->pieces_.size())) {
    unsent = std::move(connection->message_);
    delete connection;
    return false;
  }
  context.wait_for_room(*connection, worker);
  return true;
}

void SendConnection::send_notice(ConnectionContext& context, int peer, std::uint16_t kind,
                                 std::uint64_t number, std::uint64_t finished, unsigned worker) {
  auto* const connection = new SendConnection(context, peer);
  connection->kind_ = kind;
  connection->number_ = number;
  connection->finished_ = finished;
  if (!connection->resume(worker)) context.wait_for_room(*connection, worker);
}

void SendConnection::plan() {
  const OutgoingMessage& message = *message_;
  const std::size_t room = context_.transport.header_bytes() - sizeof(HeaderMessage);
  for (const Bytes chunk : message.chunks) sizes_.push_back(chunk.size());
  std::size_t used = 0;
  const std::size_t sizes_bytes = sizes_.size() * sizeof(std::uint64_t);
  if (!sizes_.empty() && context_.transport.has_dynamic_headers() && sizes_bytes <= room) {
    flags_ |= HeaderMessage::kHasSizes;
    used += sizes_bytes;
  }
  if (message.head.size() <= room - used) {
    flags_ |= HeaderMessage::kHasHead;
    used += message.head.size();
  }
  header_size_ = sizeof(HeaderMessage) + used;
  if ((flags_ & HeaderMessage::kHasHead) == 0) add_piece(message.head.bytes());
  if (!sizes_.empty() && (flags_ & HeaderMessage::kHasSizes) == 0)
    add_piece(std::as_bytes(std::span(sizes_)));
  for (const Bytes chunk : message.chunks) add_piece(chunk);
}

void SendConnection::add_piece(Bytes bytes) {
  // A receiver posts nothing for empty messages either.
  while (!bytes.empty()) {
    pieces_.push_back(bytes.first(std::min(bytes.size(), context_.transport.followup_bytes())));
    bytes = bytes.subspan(pieces_.back().size());
  }
}

bool SendConnection::write_header() {
  const std::size_t size = std::max(header_size_, sizeof(HeaderMessage));
  MutableBytes room = context_.transport.header_room(*this, size);
  if (room.empty()) return false;
  HeaderMessage fields;
  fields.kind = kind_;
  fields.flags = flags_;
  fields.source = context_.transport.rank();
  if (kind_ == HeaderMessage::kParcels) {
    const auto number = context_.tags.take(peer_, pieces_.size());
    if (!number) return false;
    number_ = *number;
    finished_ = context_.tags.finished_of(peer_);
    fields.head_size = message_->head.size();
    fields.chunks = sizes_.size();
  }
  fields.number = number_;
  fields.finished = finished_;
  std::byte* at = room.data();
  const auto put = [&at](Bytes bytes) {
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    at += bytes.size();
  };
  put(bytes_of(fields));
  if ((flags_ & HeaderMessage::kHasSizes) != 0) put(std::as_bytes(std::span(sizes_)));
  if ((flags_ & HeaderMessage::kHasHead) != 0) put(message_->head.bytes());
  header_size_ = size;
  header_ = HeaderPart::message;
  return true;
}

bool SendConnection::resume(unsigned worker) {
  if (header_ == HeaderPart::room && !write_header()) return false;
  if (header_ == HeaderPart::message) {
    // The post may end in another thread, which then goes on, before it has returned here.
    header_ = HeaderPart::sent;
    const std::uint64_t reported = finished_;
    ConnectionContext& context = context_;
    const int peer = peer_;
    const Posted posted = context_.transport.send_header(peer_, *this, header_size_, worker);
    if (posted == Posted::retry) {
      header_ = HeaderPart::message;
      return false;
    }
    context.tags.set_reported(peer, reported);
    if (posted == Posted::pending) return true;
  }
  while (!has_failed_ && next_piece_ < pieces_.size()) {
    const std::size_t piece = next_piece_++;
    const Posted posted =
        context_.transport.send(peer_, context_.tags.tag_of(number_, piece), pieces_[piece], *this, worker);
    if (posted == Posted::pending) return true;
    if (posted == Posted::retry) {
      next_piece_ = piece;
      return false;
    }
  }
  finish(!has_failed_);
  return true;
}

void SendConnection::ended(bool is_ok, unsigned worker) {
  if (!is_ok) has_failed_ = true;
  if (!resume(worker)) context_.wait_for_room(*this, worker);
}

void SendConnection::finish(bool is_delivered) {
  if (message_ && message_->peer >= 0) context_.receiver->sent(std::move(message_), is_delivered);
  delete this;
}

}  // namespace weft::parcel::ports
