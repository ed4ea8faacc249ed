#include "core/protocol/rendezvous/admission.hpp"

#include "core/completion/allocator_access.hpp"

#include <weft/completion/completion.hpp>

#include <unistd.h>

#include <algorithm>
#include <string>

namespace weft::core {

namespace {

constexpr std::int64_t kLeastFetched = std::int64_t{512} << 10;  // for one peer: bytes granted at a time
constexpr std::int64_t kMostFetched = std::int64_t{4} << 20;

/// The most bytes fetched at a time, for all peers together: leaves half of a second-level cache to the
/// program.
[[nodiscard]] std::int64_t fetched_in_caches() noexcept {
  const std::int64_t cache = ::sysconf(_SC_LEVEL2_CACHE_SIZE);  // 0 or -1: not known
  return std::clamp(cache / 2, kLeastFetched, kMostFetched);
}

}  // namespace

Admission::Admission(const Context& context, Transfers& transfers, FlowControl& flow_control,
                     RendezvousCounts& counts)
    : context_(context),
      transfers_(transfers),
      flow_control_(flow_control),
      counts_(counts),
      peers_(new Peer[static_cast<std::size_t>(context.ranks)]),
      cached_bytes_(fetched_in_caches()) {}

void Admission::change_fetching(const Incoming& incoming, std::int64_t change) noexcept {
  if (!incoming.is_receive)
    peer_of(incoming).fetching[urgency_of(incoming.message_class())].fetch_add(change,
                                                                               std::memory_order_relaxed);
}

/// The most bytes fetched from one peer at a time.
std::int64_t Admission::fetch_limit() const noexcept {
  if (context_.fetched_bytes != 0) return static_cast<std::int64_t>(context_.fetched_bytes);
  return std::max(cached_bytes_ / std::max<std::int64_t>(admitting_peers_, 1), kLeastFetched);
}

void Admission::take_announced() noexcept {
  for (Incoming* each = announced_.take_all(); each != nullptr;) {
    Incoming* const next = each->next;
    Peer& peer = peer_of(*each);
    line_up(peer.first, peer.last, *each);
    // From now on its peer is the item of work, not the message.
    if (peer.is_listed) {
      counts_.working.fetch_sub(1, std::memory_order_relaxed);
    } else {
      peer.is_listed = true;
      ++admitting_peers_;
      admitting_.add(peer);
    }
    each = next;
  }
}

Step Admission::admit(Peer& peer) noexcept {
  if (peer.must_look.load(std::memory_order_relaxed)) [[unlikely]]
    look_at_waiting(peer);
  const std::int64_t limit = fetch_limit();
  bool did = false;
  // An allocator that has just had no room is not asked again for as much: thousands of messages may wait for
  // it.
  const PayloadOwner* full = nullptr;
  std::size_t full_size = 0;
  for (Incoming *before = nullptr, *each = peer.first; each != nullptr;) {
    std::int64_t fetching = 0;  // bytes of its class and of more urgent ones
    for (std::size_t urgency = 0; urgency <= urgency_of(each->message_class()); ++urgency)
      fetching += peer.fetching[urgency].load(std::memory_order_relaxed);
    if (fetching >= limit) break;
    Incoming* const next = each->next;
    const bool is_full = full != nullptr && each->owner == full && each->wanted == full_size &&
                         each->state.load(std::memory_order_relaxed) == Incoming::State::needs_memory;
    if (is_full || !find_memory(*each)) {
      full = each->owner;
      full_size = each->wanted;
      before = each;
    } else {
      (before == nullptr ? peer.first : before->next) = next;
      if (next == nullptr) peer.last = before;
      resume(*each);
      did = true;
    }
    each = next;
  }
  if (peer.first != nullptr) return did ? Step::moved : Step::idle;
  peer.is_listed = false;
  --admitting_peers_;
  return Step::finished;
}

/// Asks for a buffer. Returns false when there is no room now; otherwise the record's state says how it
/// continues.
bool Admission::find_memory(Incoming& incoming) noexcept {
  Completion* completion = context_.exposures.find(incoming.word);
  if (completion == nullptr) {
    if (!context_.exposures.drops_late(incoming.word)) {
      const std::uint64_t count =
          context_.counters.refused_handles.fetch_add(1, std::memory_order_relaxed) + 1;
      if (is_reported(count))
        context_.log.warn("refused a large message from rank " + std::to_string(incoming.peer) +
                          ": its handle is stale, withdrawn or forged (" + std::to_string(count) +
                          " so far)");
    }
    incoming.state.store(Incoming::State::answering, std::memory_order_relaxed);
    return true;
  }
  incoming.owner = &detail::AllocatorAccess::use(*completion);
  incoming.buffer = incoming.owner->allocate_on(incoming.rts.size, context_.device);
  if (incoming.buffer != nullptr) {
    change_fetching(incoming, static_cast<std::int64_t>(incoming.wanted));
    transfers_.choose_way(incoming);
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
void Admission::resume(Incoming& incoming) noexcept {
  if (incoming.state.load(std::memory_order_relaxed) == Incoming::State::asking &&
      flow_control_.queue(incoming) == Step::finished)
    return;
  counts_.working.fetch_add(1, std::memory_order_relaxed);
  transfers_.advance(incoming);
}

/// Forgets waiting messages that their sender has cancelled, or whose sender has left.
void Admission::look_at_waiting(Peer& peer) noexcept {
  // Pairs with the releases of the threads that set it: what they have seen is seen here.
  peer.must_look.exchange(false, std::memory_order_acquire);
  for (Incoming *before = nullptr, *each = peer.first; each != nullptr;) {
    Incoming* const next = each->next;
    const bool is_withdrawn =
        each->cancelled.load(std::memory_order_relaxed) == each->generation.load(std::memory_order_relaxed);
    if (is_withdrawn || context_.port->has_left(each->peer.load(std::memory_order_relaxed))) {
      (before == nullptr ? peer.first : before->next) = next;
      if (next == nullptr) peer.last = before;
      if (is_withdrawn) {
        each->state.store(Incoming::State::forgotten, std::memory_order_relaxed);
        resume(*each);
      } else {
        transfers_.free(*each);
      }
    } else {
      before = each;
    }
    each = next;
  }
}

void Admission::report_refusal(const Incoming& incoming, const char* why) noexcept {
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
void Admission::report_no_room(const Incoming& incoming) noexcept {
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

std::size_t Admission::step() noexcept {
  return admitting_.run(counts_.working, [this](Peer& peer) { return admit(peer); });
}

void Admission::describe_refusals(std::vector<std::string>& notes) const {
  const std::uint64_t count = refused_.load(std::memory_order_acquire);
  if (count == 0) return;
  notes.push_back("device " + std::to_string(context_.device) + " has refused " + std::to_string(count) +
                  " large message(s) because there never is memory for them, the last of " +
                  std::to_string(refused_size_.load(std::memory_order_relaxed)) + " bytes from rank " +
                  std::to_string(refused_peer_.load(std::memory_order_relaxed)));
}

}  // namespace weft::core
