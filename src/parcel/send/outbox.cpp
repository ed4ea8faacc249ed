#include "parcel/send/outbox.hpp"

#include <weft/parcel/detail/parcel_header.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace weft::parcel {

namespace {

// Messages to one rank that are under way at a time, in the queued configuration.
constexpr std::uint32_t kConnectionsPerRank = 4;
// Parcels to a rank that come at longer intervals do not wait for each other: about as often a busy worker
// looks at the network, and sends what waits.
constexpr std::int64_t kRareNs = 20'000;
// Whoever is ahead of a rank moves communication for so long at most, and as long as the rank has taken
// something lately. Chunks are the program's own arrays: with few of them under way their memory is used
// again while it is in the cache, and no new pages are asked of the kernel. Heads are copied and packed
// closely: so many times the bytes may wait.
constexpr std::chrono::microseconds kLongestPace(20);
constexpr std::chrono::microseconds kPatience(5);
constexpr std::size_t kHeadsForChunks = 64;

PortLimits limits_of(const Parcelport& port, Aggregation aggregation) noexcept {
  if (aggregation == Aggregation::queued) return {0, 0, kConnectionsPerRank, kConnectionsPerRank};
  PortLimits limits = port.limits();
  // Nothing waits but what the port refuses.
  if (aggregation == Aggregation::immediate)
    limits.messages_at_once = limits.chunked_at_once = PortLimits::kAnyNumber;
  return limits;
}

std::size_t bytes_of(const std::vector<Bytes>& chunks) noexcept {
  std::size_t size = 0;
  for (const Bytes chunk : chunks) size += chunk.size();
  return size;
}

std::uint64_t parcels_in(Bytes head) noexcept {
  std::uint64_t count = 0;
  while (head.size() >= sizeof(detail::ParcelHeader)) {
    detail::ParcelHeader header;
    std::memcpy(&header, head.data(), sizeof header);
    if (header.size == 0 || header.size > head.size()) break;
    head = head.subspan(header.size);
    ++count;
  }
  return count;
}

}  // namespace

Outbox::Outbox(Parcelport& port, const RuntimeOptions& options, bool (*poll)(void*), void* context)
    : port_(port),
      aggregation_(options.aggregation),
      limits_(limits_of(port, options.aggregation)),
      are_small_tracked_(options.aggregation == Aggregation::queued ||
                         (options.aggregation == Aggregation::adaptive &&
                          limits_.messages_at_once != PortLimits::kAnyNumber)),
      limit_(options.pending_limit),
      pace_(options.pace),
      message_bytes_(are_small_tracked_ ? options.message_limit
                                        : std::min(options.message_limit, port.limits().message_bytes)),
      most_connections_(options.connections),
      poll_(poll),
      context_(context) {
  for (int rank = 0; rank < port.size(); ++rank) destinations_.push_back(std::make_unique<Destination>());
}

Outbox::~Outbox() = default;

void Outbox::wait_for_room() {
  waits_.fetch_add(1, std::memory_order_relaxed);
  while (is_full()) {
    Waiter waiter({"room among the parcels that wait for other ranks (pending_limit)", this});
    {
      const std::lock_guard lock(waiters_mutex_);
      waiters_.push_back(&waiter);
      // Either remove_pending() sees this, or this thread the room that was made.
      has_waiters_.store(true, std::memory_order_seq_cst);
    }
    remove_pending(0);
    poll_(context_);
    try {
      waiter.wait();
    } catch (...) {  // no memory for the stack on which the worker would go on
      const std::lock_guard lock(waiters_mutex_);
      std::erase(waiters_, &waiter);
      throw;
    }
  }
}

void Outbox::remove_pending(std::size_t bytes) noexcept {
  const std::size_t left = pending_.fetch_sub(bytes, std::memory_order_seq_cst) - bytes;
  if (!has_waiters_.load(std::memory_order_seq_cst)) [[likely]]
    return;
  // Somewhat below, so that they do not wait again at once.
  if (left >= limit_ - limit_ / 8) return;
  const std::lock_guard lock(waiters_mutex_);
  has_waiters_.store(false, std::memory_order_relaxed);
  for (Waiter* const waiter : waiters_) waiter->notify();
  waiters_.clear();
}

std::size_t Outbox::weight_of(const OutgoingMessage& message) noexcept {
  return sizeof message + message.head.size() + bytes_of(message.chunks);
}

void Outbox::note_taken(Destination& destination) noexcept {
  destination.taken.fetch_add(1, std::memory_order_relaxed);
  if (destination.is_stalled.load(std::memory_order_relaxed)) [[unlikely]]
    destination.is_stalled.store(false, std::memory_order_relaxed);
}

template <class IsAhead>
void Outbox::keep_pace(Destination& destination, int peer, unsigned worker, const IsAhead& is_ahead) {
  using Clock = std::chrono::steady_clock;
  if (destination.is_stalled.load(std::memory_order_relaxed)) return;
  const auto begin = Clock::now();
  auto last_taken = begin;
  std::uint64_t taken = destination.taken.load(std::memory_order_relaxed);
  while (is_ahead(destination) && !port_.has_failed(peer)) {
    if (destination.has_waiting.load(std::memory_order_relaxed)) {
      const std::unique_lock lock(destination.mutex, std::try_to_lock);
      if (lock.owns_lock()) flush_locked(destination, peer, worker);
    }
    poll_(context_);
    const auto now = Clock::now();
    if (now - begin > kLongestPace) return;
    if (const std::uint64_t since = destination.taken.load(std::memory_order_relaxed); since != taken) {
      taken = since;
      last_taken = now;
    } else if (now - last_taken > kPatience) {
      destination.is_stalled.store(true, std::memory_order_relaxed);
      return;
    }
  }
}

void Outbox::send(int peer, detail::ByteBuffer& head, std::vector<Bytes>& chunks,
                  std::unique_ptr<detail::HeldValues> held, unsigned worker) {
  Destination& destination = *destinations_[static_cast<std::size_t>(peer)];
  const bool has_chunks = !chunks.empty();
  const auto is_ahead = [this](const Destination& of) {
    return of.chunk_bytes.load(std::memory_order_relaxed) +
               of.waiting_bytes.load(std::memory_order_relaxed) / kHeadsForChunks >
           pace_;
  };
  if (has_chunks) destination.chunk_bytes.fetch_add(bytes_of(chunks), std::memory_order_relaxed);
  bool is_urgent = false;
  if (aggregation_ != Aggregation::queued && may_leave_now(destination, has_chunks, is_urgent)) {
    bool has_left = try_now(peer, head, chunks, held, worker);
    if (!has_left) [[unlikely]] {
      pushed_back_.fetch_add(1, std::memory_order_relaxed);
      // Where a message costs little, a rank that takes them is better waited for than a copy made.
      if (!are_small_tracked_ && pace_ != 0)
        keep_pace(destination, peer, worker, [&](const Destination&) {
          has_left = has_left || try_now(peer, head, chunks, held, worker);
          return !has_left;
        });
    }
    if (has_left) [[likely]] {
      if (has_chunks && pace_ != 0 && is_ahead(destination)) keep_pace(destination, peer, worker, is_ahead);
      return;
    }
  }
  bool has_sealed = false;
  {
    const std::lock_guard lock(destination.mutex);
    const std::size_t sealed = destination.sealed.size();
    append(destination, peer, head, chunks, std::move(held));
    has_sealed = destination.sealed.size() != sealed;
    if (are_small_tracked_ || has_sealed) flush_locked(destination, peer, worker, is_urgent);
  }
  // Not for each short parcel, which may cost less than a look at the clock.
  if ((has_chunks || has_sealed) && pace_ != 0 && is_ahead(destination)) [[unlikely]]
    keep_pace(destination, peer, worker, is_ahead);
}

bool Outbox::has_room(const Destination& destination, bool has_chunks) const noexcept {
  const std::uint32_t most = has_chunks ? limits_.chunked_at_once : limits_.messages_at_once;
  return most == PortLimits::kAnyNumber || destination.connections.load(std::memory_order_relaxed) < most;
}

bool Outbox::may_leave_now(Destination& destination, bool has_chunks, bool& is_urgent) const noexcept {
  const bool has_waiting = destination.has_waiting.load(std::memory_order_relaxed);
  if (!are_small_tracked_) [[likely]]
    return !has_waiting;
  // What waits here has not been refused: chunks that a port takes in any number need not wait behind it.
  if (has_room(destination, has_chunks) && (!has_waiting || has_chunks)) return true;
  const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();  // nanoseconds
  is_urgent = now - destination.last_held_up.exchange(now, std::memory_order_relaxed) > kRareNs;
  return is_urgent && !has_waiting;
}

bool Outbox::try_now(int peer, detail::ByteBuffer& head, std::vector<Bytes>& chunks,
                     std::unique_ptr<detail::HeldValues>& held, unsigned worker) {
  if (is_small(head, !chunks.empty())) [[likely]] {
    if (!port_.try_send_small(peer, head.bytes(), worker)) return false;
    messages_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  auto message = std::make_unique<OutgoingMessage>();
  message->peer = peer;
  message->head = std::move(head);
  message->chunks = std::move(chunks);
  if (held) message->held.push_back(std::move(held));
  const std::size_t weight = weight_of(*message);
  std::atomic<std::uint32_t>& connections = destinations_[static_cast<std::size_t>(peer)]->connections;
  under_way_.fetch_add(1, std::memory_order_relaxed);
  connections.fetch_add(1, std::memory_order_relaxed);
  add_pending(weight);
  if (port_.try_send(message, worker)) {
    messages_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  under_way_.fetch_sub(1, std::memory_order_relaxed);
  connections.fetch_sub(1, std::memory_order_relaxed);
  remove_pending(weight);
  head = std::move(message->head);
  chunks = std::move(message->chunks);
  if (!message->held.empty()) held = std::move(message->held.front());
  return false;
}

void Outbox::append(Destination& destination, int peer, detail::ByteBuffer& head, std::vector<Bytes>& chunks,
                    std::unique_ptr<detail::HeldValues> held) {
  std::size_t added = head.size() + bytes_of(chunks);
  // One parcel too many would make a message of a packet a long one, which is met and fetched.
  if (destination.open && destination.open->head.size() + head.size() > message_bytes_)
    destination.sealed.push_back(std::move(destination.open));
  if (!destination.open) {
    destination.open = connection(peer);
    added += sizeof(OutgoingMessage);
  }
  add_pending(added);
  OutgoingMessage& open = *destination.open;
  open.head.append(head.bytes());
  open.chunks.insert(open.chunks.end(), chunks.begin(), chunks.end());
  if (held) open.held.push_back(std::move(held));
  destination.waiting_bytes.fetch_add(head.size(), std::memory_order_relaxed);
  if (!destination.has_waiting.exchange(true, std::memory_order_relaxed))
    waiting_destinations_.fetch_add(1, std::memory_order_relaxed);
  if (aggregation_ == Aggregation::immediate || open.head.size() >= message_bytes_ ||
      open.chunks.size() >= 1024)
    destination.sealed.push_back(std::move(destination.open));
}

bool Outbox::try_message(Destination& destination, std::unique_ptr<OutgoingMessage>& message,
                         unsigned worker) {
  const std::uint64_t parcels = parcels_in(message->head.bytes());
  const std::size_t size = message->head.size();
  if (is_small(message->head, !message->chunks.empty())) {
    if (!port_.try_send_small(message->peer, message->head.bytes(), worker)) return false;
    note_taken(destination);
    remove_pending(weight_of(*message));
    message.reset();
  } else {
    under_way_.fetch_add(1, std::memory_order_relaxed);
    destination.connections.fetch_add(1, std::memory_order_relaxed);
    if (!port_.try_send(message, worker)) {
      under_way_.fetch_sub(1, std::memory_order_relaxed);
      destination.connections.fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
  }
  destination.waiting_bytes.fetch_sub(size, std::memory_order_relaxed);
  messages_.fetch_add(1, std::memory_order_relaxed);
  if (parcels > 1) aggregated_.fetch_add(parcels, std::memory_order_relaxed);
  return true;
}

bool Outbox::flush_locked(Destination& destination, int peer, unsigned worker, bool is_urgent) {
  bool has_sent = false;
  while (!destination.sealed.empty() || destination.open) {
    if (port_.has_failed(peer)) [[unlikely]] {
      drop(destination);
      break;
    }
    auto& message = destination.sealed.empty() ? destination.open : destination.sealed.front();
    if (!is_urgent && !has_room(destination, !message->chunks.empty())) return has_sent;
    if (!try_message(destination, message, worker)) {
      pushed_back_.fetch_add(1, std::memory_order_relaxed);
      return has_sent;
    }
    if (!destination.sealed.empty()) destination.sealed.pop_front();
    has_sent = true;
  }
  if (destination.has_waiting.exchange(false, std::memory_order_relaxed))
    waiting_destinations_.fetch_sub(1, std::memory_order_relaxed);
  return has_sent;
}

void Outbox::drop(Destination& destination) {
  if (destination.open) destination.sealed.push_back(std::move(destination.open));
  for (const auto& message : destination.sealed) {
    lost_.fetch_add(parcels_in(message->head.bytes()), std::memory_order_relaxed);
    destination.chunk_bytes.fetch_sub(bytes_of(message->chunks), std::memory_order_relaxed);
    remove_pending(weight_of(*message));
  }
  destination.sealed.clear();
  destination.waiting_bytes.store(0, std::memory_order_relaxed);
}

bool Outbox::flush(unsigned worker) {
  if (waiting_destinations_.load(std::memory_order_relaxed) == 0) return false;
  bool has_sent = false;
  for (std::size_t rank = 0; rank < destinations_.size(); ++rank) {
    Destination& destination = *destinations_[rank];
    if (!destination.has_waiting.load(std::memory_order_relaxed)) continue;
    const std::unique_lock lock(destination.mutex, std::try_to_lock);
    if (lock.owns_lock()) has_sent |= flush_locked(destination, static_cast<int>(rank), worker);
  }
  return has_sent;
}

std::unique_ptr<OutgoingMessage> Outbox::connection(int peer) {
  std::unique_ptr<OutgoingMessage> message;
  if (aggregation_ == Aggregation::queued) {
    const std::lock_guard lock(cache_mutex_);
    if (!cache_.empty()) {
      message = std::move(cache_.front());
      cache_.pop_front();
    }
  }
  if (!message) message = std::make_unique<OutgoingMessage>();
  message->peer = peer;
  return message;
}

void Outbox::sent(std::unique_ptr<OutgoingMessage> message, bool is_delivered) {
  if (!is_delivered) lost_.fetch_add(parcels_in(message->head.bytes()), std::memory_order_relaxed);
  Destination& destination = *destinations_[static_cast<std::size_t>(message->peer)];
  destination.connections.fetch_sub(1, std::memory_order_relaxed);
  if (!message->chunks.empty())
    destination.chunk_bytes.fetch_sub(bytes_of(message->chunks), std::memory_order_relaxed);
  note_taken(destination);
  const std::size_t weight = weight_of(*message);
  message->held.clear();
  remove_pending(weight);
  under_way_.fetch_sub(1, std::memory_order_release);
  if (aggregation_ != Aggregation::queued) return;
  message->head.clear();
  message->chunks.clear();
  const std::lock_guard lock(cache_mutex_);
  cache_.push_front(std::move(message));
  if (cache_.size() > most_connections_) cache_.pop_back();
}

bool Outbox::is_empty() const noexcept {
  return waiting_destinations_.load(std::memory_order_relaxed) == 0 &&
         under_way_.load(std::memory_order_acquire) == 0;
}

OutboxCounts Outbox::counts() const noexcept {
  return {messages_.load(std::memory_order_relaxed),   pushed_back_.load(std::memory_order_relaxed),
          aggregated_.load(std::memory_order_relaxed), lost_.load(std::memory_order_relaxed),
          waits_.load(std::memory_order_relaxed),      pending_.load(std::memory_order_relaxed)};
}

}  // namespace weft::parcel
