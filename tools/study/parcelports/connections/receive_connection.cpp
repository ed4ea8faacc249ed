#include "study/parcelports/connections/receive_connection.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "study/parcelports/connections/connection_context.hpp"
#include "study/parcelports/connections/send_connection.hpp"

namespace weft::parcel::ports {

ReceiveConnection::ReceiveConnection(ConnectionContext& context, const ReceivedHeader& header)
    : context_(context), number_(header.fields.number), message_(std::make_unique<Whole>()) {
  const HeaderMessage& fields = header.fields;
  message_->source = fields.source;
  const bool has_head = (fields.flags & HeaderMessage::kHasHead) != 0;
  const bool has_sizes = (fields.flags & HeaderMessage::kHasSizes) != 0;
  if (has_head) message_->bytes.assign(header.head.begin(), header.head.end());
  if (has_sizes) message_->chunk_sizes.resize(fields.chunks);
  if (has_sizes && !header.sizes.empty())
    std::memcpy(message_->chunk_sizes.data(), header.sizes.data(), header.sizes.size());
  head_.expect(message_->bytes, has_head ? 0 : fields.head_size);
  sizes_.expect(message_->chunk_sizes, has_sizes ? 0 : fields.chunks);
  context_.live.fetch_add(1, std::memory_order_relaxed);
}
ReceiveConnection::~ReceiveConnection() { context_.live.fetch_sub(1, std::memory_order_release); }

void ReceiveConnection::add_room(MutableBytes room) {
  while (!room.empty()) {
    rooms_.push_back(room.first(std::min(room.size(), context_.transport.followup_bytes())));
    room = room.subspan(rooms_.back().size());
  }
}

bool ReceiveConnection::is_part_complete() noexcept {
  if (part_ == Part::head) return head_.is_complete();
  if (part_ == Part::sizes) return sizes_.is_complete();
  if (!is_dropped_) return next_room_ == rooms_.size();
  const std::vector<std::uint64_t>& sizes = message_->chunk_sizes;
  while (unwanted_left_ == 0 && next_unwanted_ < sizes.size()) unwanted_left_ = sizes[next_unwanted_++];
  return unwanted_left_ == 0;
}

void ReceiveConnection::begin_parts() {
  while (part_ != Part::end && is_part_complete()) {
    if (part_ == Part::head) {
      message_->head = message_->bytes;
      part_ = Part::sizes;
    } else if (part_ == Part::sizes) {
      part_ = Part::chunks;
      if (!message_->chunk_sizes.empty()) begin_chunks();
    } else {
      part_ = Part::end;
    }
  }
}

MutableBytes ReceiveConnection::take_room() {
  const std::size_t most = context_.transport.followup_bytes();
  const auto take = [&](auto& arriving) {
    const MutableBytes room = arriving.room(most);
    arriving.came(room.size());
    return room;
  };
  if (part_ == Part::head) return take(head_);
  if (part_ == Part::sizes) return take(sizes_);
  if (!is_dropped_) return rooms_[next_room_++];
  const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(unwanted_left_, most));
  unwanted_left_ -= now;
  return {unwanted_.get(), now};
}

void ReceiveConnection::return_room(MutableBytes room) noexcept {
  if (part_ == Part::head) return head_.did_not_come(room.size());
  if (part_ == Part::sizes) return sizes_.did_not_come(room.size());
  if (is_dropped_)
    unwanted_left_ += room.size();
  else
    --next_room_;
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
  unwanted_ = std::make_unique_for_overwrite<std::byte[]>(most);  // of which no more is touched than comes
}

bool ReceiveConnection::resume(unsigned worker) {
  while (!has_failed_ && part_ != Part::end) {
    MutableBytes room;
    try {
      room = take_room();
    } catch (const std::bad_alloc&) {
      has_failed_ = true;
      break;
    }
    // The post may end in another thread, which then goes on, before it has returned here.
    const std::uint64_t followup = posted_++;
    const Posted posted = context_.transport.receive(
        message_->source, context_.tags.tag_of(number_, followup), room, *this, worker);
    if (posted == Posted::pending) return true;
    if (posted == Posted::retry) {
      return_room(room);
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
  if (!resume(worker)) context_.wait_for_room(*this, worker);
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
    SendConnection::send_notice(context, source, HeaderMessage::kRelease, number, 0, worker);
  context.tags.finish(source, number);
  if (const auto updates = context.tags.updates_for(source))
    SendConnection::send_notice(context, source, HeaderMessage::kFinished, 0, *updates, worker);
}

}  // namespace weft::parcel::ports
