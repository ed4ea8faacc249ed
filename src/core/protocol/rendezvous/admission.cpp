// Rendezvous of active messages: which announced message (RTS) gets a buffer, and when.
//
// A sender may have a thousand messages in progress. Buffers for all of them at once would be a thousand
// times the memory that a stream needs, none of it in a cache. So the messages of one peer wait, in the order
// of their classes and RTS messages, while enough bytes of earlier ones have a buffer and have not arrived
// yet. One message is always fetched, however large; messages that have arrived and are with the program do
// not count.
#include "core/completion/allocator_access.hpp"
#include "core/protocol/rendezvous/records.hpp"

#include <weft/completion/completion.hpp>

#include <unistd.h>

#include <algorithm>
#include <string>

namespace weft::core {

namespace {

constexpr std::int64_t kLeastFetched = std::int64_t{512} << 10;  // for one peer: bytes granted at a time
constexpr std::int64_t kMostFetched = std::int64_t{4} << 20;

}  // namespace

/// The most bytes fetched at a time, for all peers together: leaves half of a second-level cache to the
/// program.
std::int64_t Rendezvous::fetched_in_caches() noexcept {
  const std::int64_t cache = ::sysconf(_SC_LEVEL2_CACHE_SIZE);  // 0 or -1: not known
  return std::clamp(cache / 2, kLeastFetched, kMostFetched);
}

/// The most bytes fetched from one peer at a time.
std::int64_t Rendezvous::fetch_limit() const noexcept {
  if (context_.fetched_bytes != 0) return static_cast<std::int64_t>(context_.fetched_bytes);
  return std::max(cached_bytes_ / std::max<std::int64_t>(admitting_peers_, 1), kLeastFetched);
}

void Rendezvous::line_up_announced() noexcept {
  for (Incoming* each = announced_.take_all(); each != nullptr;) {
    Incoming* const next = each->next;
    Admission& admission = admission_of(*each);
    line_up(admission.first, admission.last, *each);
    // From now on the admission is the item of work, not the message.
    if (admission.is_listed) {
      working_.fetch_sub(1, std::memory_order_relaxed);
    } else {
      admission.is_listed = true;
      ++admitting_peers_;
      admitting_.add(admission);
    }
    each = next;
  }
}

Step Rendezvous::admit(Admission& admission) noexcept {
  if (admission.must_look.load(std::memory_order_relaxed)) [[unlikely]]
    look_at_waiting(admission);
  const std::int64_t limit = fetch_limit();
  bool did = false;
  // An allocator that has just had no room is not asked again for as much: thousands of messages may wait for
  // it.
  const PayloadOwner* full = nullptr;
  std::size_t full_size = 0;
  for (Incoming *before = nullptr, *each = admission.first; each != nullptr;) {
    std::int64_t fetching = 0;  // bytes of its class and of more urgent ones
    for (std::size_t urgency = 0; urgency <= urgency_of(each->message_class()); ++urgency)
      fetching += admission.fetching[urgency].load(std::memory_order_relaxed);
    if (fetching >= limit) break;
    Incoming* const next = each->next;
    const bool is_full = full != nullptr && each->owner == full && each->wanted == full_size &&
                         each->state.load(std::memory_order_relaxed) == Incoming::State::needs_memory;
    if (is_full || !find_memory(*each)) {
      full = each->owner;
      full_size = each->wanted;
      before = each;
    } else {
      (before == nullptr ? admission.first : before->next) = next;
      if (next == nullptr) admission.last = before;
      go_on(*each);
      did = true;
    }
    each = next;
  }
  if (admission.first != nullptr) return did ? Step::moved : Step::idle;
  admission.is_listed = false;
  --admitting_peers_;
  return Step::finished;
}

/// Asks for a buffer. Returns false when there is no room now; otherwise the record's state says how it
/// continues.
bool Rendezvous::find_memory(Incoming& incoming) noexcept {
  Completion* completion = context_.exposures.find(incoming.word);
  if (completion == nullptr) {
    const std::uint64_t count = context_.counters.refused_handles.fetch_add(1, std::memory_order_relaxed) + 1;
    if (is_reported(count))
      context_.log.warn("refused a large message from rank " + std::to_string(incoming.peer) +
                        ": its handle is stale, withdrawn or forged (" + std::to_string(count) + " so far)");
    incoming.state.store(Incoming::State::answering, std::memory_order_relaxed);
    return true;
  }
  incoming.owner = &detail::AllocatorAccess::use(*completion);
  incoming.buffer = incoming.owner->allocate_on(incoming.rts.size, context_.device);
  if (incoming.buffer != nullptr) {
    change_fetching(incoming, static_cast<std::int64_t>(incoming.wanted));
    set_fetching(incoming);
    return true;
  }
  if (const char* const why = incoming.owner->refusal(incoming.rts.size); why != nullptr) {
    report_refusal(incoming, why);
    incoming.state.store(Incoming::State::refused, std::memory_order_relaxed);
    return true;
  }
  if (declines_.load(std::memory_order_relaxed)) {
    incoming.state.store(Incoming::State::answering, std::memory_order_relaxed);
    return true;
  }
  if (incoming.state.load(std::memory_order_relaxed) != Incoming::State::needs_memory) {
    report_no_room(incoming);
    incoming.state.store(Incoming::State::needs_memory, std::memory_order_release);
  }
  return false;
}

/// Continues a transfer. Only for the thread that calls step(). The record is in no list.
void Rendezvous::go_on(Incoming& incoming) noexcept {
  if (incoming.state.load(std::memory_order_relaxed) == Incoming::State::asking &&
      queue(incoming) == Step::finished)
    return;
  working_.fetch_add(1, std::memory_order_relaxed);
  advancing_.add(incoming);
}

/// Forgets waiting messages that their sender has cancelled, or whose sender has left.
void Rendezvous::look_at_waiting(Admission& admission) noexcept {
  // Pairs with the releases of the threads that set it: what they have seen is seen here.
  admission.must_look.exchange(false, std::memory_order_acquire);
  for (Incoming *before = nullptr, *each = admission.first; each != nullptr;) {
    Incoming* const next = each->next;
    const bool is_withdrawn =
        each->cancelled.load(std::memory_order_relaxed) == each->generation.load(std::memory_order_relaxed);
    if (is_withdrawn || context_.port->has_left(each->peer.load(std::memory_order_relaxed))) {
      (before == nullptr ? admission.first : before->next) = next;
      if (next == nullptr) admission.last = before;
      if (is_withdrawn) {
        each->state.store(Incoming::State::forgotten, std::memory_order_relaxed);
        go_on(*each);
      } else {
        free(*each);
      }
    } else {
      before = each;
    }
    each = next;
  }
}

void Rendezvous::report_refusal(const Incoming& incoming, const char* why) noexcept {
  refused_size_.store(incoming.rts.size, std::memory_order_relaxed);
  refused_peer_.store(incoming.peer.load(std::memory_order_relaxed), std::memory_order_relaxed);
  // Pairs with the acquire in describe_refusals().
  refused_.fetch_add(1, std::memory_order_release);
  const std::uint64_t count = context_.counters.refused_messages.fetch_add(1, std::memory_order_relaxed) + 1;
  if (is_reported(count))
    context_.log.error("refused a large message of " + std::to_string(incoming.rts.size) +
                       " bytes from rank " + std::to_string(incoming.peer) + ": " + why + " (" +
                       std::to_string(count) + " refused so far)");
}

/// Called once for each message. Allocators of programs may use refusals as flow control: for these no
/// warning is logged.
void Rendezvous::report_no_room(const Incoming& incoming) noexcept {
  if (!is_reported(++no_room_)) return;
  const auto text = [&] {
    return "no memory now for a large message of " + std::to_string(incoming.rts.size) + " bytes from rank " +
           std::to_string(incoming.peer) +
           ": it waits until there is (free some, or raise the limits of this process; " +
           std::to_string(no_room_) + " have waited so far)";
  };
  if (incoming.owner == &detail::heap_payloads())
    context_.log.warn(text());
  else
    context_.log.in(base::LogModule::protocol).info(text);
}

}  // namespace weft::core
