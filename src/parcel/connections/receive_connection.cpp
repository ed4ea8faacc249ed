#include "parcel/connections/receive_connection.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "parcel/connections/connection_context.hpp"
#include "parcel/connections/send_connection.hpp"

namespace weft::parcel {

ReceiveConnection::ReceiveConnection(ConnectionContext& context, const ReceivedHeader& header)
    : context_(context),
      number_(header.fields.number),
      has_head_((header.fields.flags & HeaderMessage::kHasHead) != 0),
      has_sizes_((header.fields.flags & HeaderMessage::kHasSizes) != 0),
      message_(std::make_unique<Whole>()) {
  message_->source = header.fields.source;
  message_->bytes.resize(header.fields.head_size);
  if (has_head_ && !header.head.empty())
    std::memcpy(message_->bytes.data(), header.head.data(), header.head.size());
  message_->chunk_sizes.resize(header.fields.chunks);
  if (has_sizes_ && !header.sizes.empty())
    std::memcpy(message_->chunk_sizes.data(), header.sizes.data(), header.sizes.size());
  message_->head = message_->bytes;
  if (!has_head_) add_room(message_->bytes);
  context_.live.fetch_add(1, std::memory_order_relaxed);
}
ReceiveConnection::~ReceiveConnection() { context_.live.fetch_sub(1, std::memory_order_release); }

void ReceiveConnection::add_room(MutableBytes room) {
  while (!room.empty()) {
    rooms_.push_back(room.first(std::min(room.size(), context_.transport.followup_bytes())));
    room = room.subspan(rooms_.back().size());
  }
}

void ReceiveConnection::begin_parts() {
  while (next_room_ == rooms_.size() && part_ != Part::end) {
    rooms_.clear();
    next_room_ = 0;
    if (part_ == Part::head) {
      part_ = Part::sizes;
      if (!has_sizes_) add_room(std::as_writable_bytes(std::span(message_->chunk_sizes)));
    } else if (part_ == Part::sizes) {
      part_ = Part::chunks;
      if (!message_->chunk_sizes.empty()) begin_chunks();
    } else {
      part_ = Part::end;
    }
  }
}

void ReceiveConnection::begin_chunks() {
  if (context_.receiver->place(*message_)) {
    for (const MutableBytes landing : message_->landings) add_room(landing);
    return;
  }
  // The sender sends them all the same.
  is_dropped_ = true;
  const std::size_t most =
      std::min<std::uint64_t>(*std::max_element(message_->chunk_sizes.begin(), message_->chunk_sizes.end()),
                              context_.transport.followup_bytes());
  unwanted_.resize(most);
  for (std::uint64_t size : message_->chunk_sizes) {
    while (size > 0) {
      rooms_.push_back(std::span(unwanted_).first(std::min<std::uint64_t>(size, most)));
      size -= rooms_.back().size();
    }
  }
}

bool ReceiveConnection::go_on(unsigned worker) {
  while (!has_failed_ && part_ != Part::end) {
    // The post may end in another thread, which then goes on, before it has returned here.
    const MutableBytes room = rooms_[next_room_++];
    const std::uint64_t followup = posted_++;
    const Posted posted = context_.transport.receive(
        message_->source, context_.tags.tag_of(number_, followup), room, *this, worker);
    if (posted == Posted::pending) return true;
    if (posted == Posted::retry) {
      --next_room_;
      --posted_;
      return false;
    }
    begin_parts();
  }
  finish(worker);
  return true;
}

void ReceiveConnection::ended(bool is_ok, unsigned worker) {
  if (!is_ok)
    has_failed_ = true;
  else
    begin_parts();
  if (!go_on(worker)) context_.wait_for_room(*this);
}

void ReceiveConnection::finish(unsigned worker) {
  ConnectionContext& context = context_;
  const int source = message_->source;
  const std::uint64_t number = number_;
  if (has_failed_)
    context.receiver->lost(std::move(message_));
  else if (!is_dropped_)
    context.receiver->arrived(std::move(message_));
  delete this;
  if (context.transport.tag_policy() == TagPolicy::provider)
    SendConnection::tell(context, source, HeaderMessage::kRelease, number, 0, worker);
  context.tags.finish(source, number);
  if (const auto news = context.tags.news_for(source))
    SendConnection::tell(context, source, HeaderMessage::kFinished, 0, *news, worker);
}

}  // namespace weft::parcel
