#include "core/protocol/rendezvous/incoming_transfers.hpp"

#include "base/clock.hpp"
#include "concurrent/racy_read.hpp"
#include "core/completion/object_end.hpp"
#include "core/protocol/rendezvous/landing_name.hpp"

#include <weft/completion/completion.hpp>

#include <string>

namespace weft::core {

namespace {

constexpr const char* kTracedArrival = "large message of a peer";

}  // namespace

Transfers::Transfers(const Context& context, RendezvousCounts& counts)
    : context_(context),
      counts_(counts),
      records_(context.requests, "large messages of peers"),
      ways_(context.transfer == Transfer::automatic ? new LearnedWays : nullptr) {}

Transfers::~Transfers() {
  for (const Incoming& incoming : records_) {
    if (incoming.state.load(std::memory_order_acquire) != Incoming::State::free &&
        incoming.buffer != nullptr && !incoming.is_receive)
      incoming.owner->release(incoming.buffer, incoming.rts.size, 0);
  }
}

void Transfers::note_named(const Incoming& incoming) noexcept {
  detail::NamedCompletion::note_named_by(incoming.completion, context_.device_number);
}

void Transfers::begin(Incoming& incoming) noexcept {
  context_.log.in(base::LogModule::protocol).trace([&] {
    return "a large message of " + std::to_string(incoming.rts.size) + " bytes from rank " +
           std::to_string(incoming.peer) + " begins";
  });
  context_.trace(TraceEvent::Phase::begin, kTracedArrival, incoming.peer, incoming.rts.size, incoming.index);
  incoming.read = 0;
  incoming.granted.store(0, std::memory_order_relaxed);
  incoming.received.store(0, std::memory_order_relaxed);
  counts_.awaiting.fetch_add(1, std::memory_order_relaxed);
  counts_.working.fetch_add(1, std::memory_order_relaxed);
}

void Transfers::free(Incoming& incoming) noexcept {
  context_.trace(TraceEvent::Phase::end, kTracedArrival, incoming.peer, incoming.rts.size, incoming.index);
  learn(incoming, LearnedWays::End::given_up);
  incoming.state.store(Incoming::State::free, std::memory_order_relaxed);
  incoming.generation.fetch_add(1, std::memory_order_release);
  records_.put(incoming);
  counts_.awaiting.fetch_sub(1, std::memory_order_relaxed);
}

void Transfers::choose_way(Incoming& incoming) noexcept {
  auto state = Incoming::State::asking;
  if (context_.transfer != Transfer::copy && incoming.rts.address != 0) {
    const int sender = incoming.peer.load(std::memory_order_relaxed);
    const auto& peer = context_.port->peer_capabilities(sender);
    const bool is_offered = incoming.rts.key != 0 && incoming.parts.empty();
    const bool can_land = peer.landing_bytes != 0 && incoming.index < kMostLandings;
    if (is_offered && can_land && (context_.transfer == Transfer::put || !peer.can_fetch)) {
      state = Incoming::State::opening;
    } else if (is_offered && peer.can_fetch) {
      state = Incoming::State::fetching;
    } else if (peer.can_read && context_.transfer == Transfer::read) {
      state = Incoming::State::reading;
    } else if (ways_ != nullptr && peer.can_read && incoming.parts.empty() &&
               incoming.wanted >= LearnedWays::kLeastBytes) {
      incoming.is_learned = true;
      incoming.way = ways_->begin(sender, incoming.wanted);
      if (incoming.way == Way::read) state = Incoming::State::reading;
    }
  }
  incoming.state.store(state, std::memory_order_relaxed);
}

void Transfers::start_time(Incoming& incoming) const noexcept {
  if (incoming.is_learned) incoming.started = base::now_ns();
}

void Transfers::learn(Incoming& incoming, LearnedWays::End how) noexcept {
  if (!incoming.is_learned) return;
  incoming.is_learned = false;
  ways_->end(incoming.peer.load(std::memory_order_relaxed), incoming.wanted, incoming.way, how,
             incoming.started, how == LearnedWays::End::whole ? base::now_ns() : 0);
}

WEFT_READS_RACILY bool Transfers::may_name(const Completion& object) const noexcept {
  for (const Incoming& incoming : records_)
    if (names(incoming, object)) return true;
  return false;
}

WEFT_READS_RACILY void Transfers::forget_object(const Completion& object,
                                                DetachedOperations& instead) noexcept {
  for (Incoming& incoming : records_) {
    if (!names(incoming, object)) continue;
    instead.add();
    *const_cast<Completion* volatile*>(&incoming.completion) = &instead;
  }
}

WEFT_READS_RACILY bool Transfers::names(const Incoming& incoming, const Completion& object) noexcept {
  if (concurrent::racy_read(incoming.completion) != &object || !concurrent::racy_read(incoming.is_receive))
    return false;
  const Incoming::State state = incoming.state.load(std::memory_order_acquire);
  return state != Incoming::State::free && state != Incoming::State::answering &&
         state != Incoming::State::forgotten;
}

std::size_t Transfers::in_progress() const noexcept {
  std::size_t count = 0;
  for (const Incoming& incoming : records_)
    count += incoming.state.load(std::memory_order_acquire) != Incoming::State::free ? 1 : 0;
  return count;
}

/// Reads records of other threads: copies them without owning them, and lists those that have not changed
/// owner meanwhile.
WEFT_READS_RACILY void Transfers::describe(PendingList& list) const noexcept {
  const auto device = static_cast<std::int32_t>(context_.device);
  for (const Incoming& incoming : records_) {
    const std::uint32_t generation = incoming.generation.load(std::memory_order_acquire);
    const Incoming::State state = incoming.state.load(std::memory_order_acquire);
    if (state == Incoming::State::free) continue;
    PendingOperation operation;
    operation.kind = PendingKind::arrival;
    operation.state = state == Incoming::State::waiting
                          ? "waits until others of this rank have been fetched (rendezvous_bytes)"
                      : state == Incoming::State::needs_memory
                          ? "no memory for it: its allocator has no room for so many bytes now"
                      : state == Incoming::State::refused   ? "refused: its sender is to be told"
                      : state == Incoming::State::reading   ? "read from the peer's memory"
                      : state == Incoming::State::asking    ? "about to be asked for"
                      : state == Incoming::State::opening   ? "about to be asked for: its sender is to put it"
                      : state == Incoming::State::opened    ? "put by its sender"
                      : state == Incoming::State::answering ? "about to be answered"
                      : state == Incoming::State::forgotten ? "cancelled by its sender, who is to be told"
                                                            : "received in pieces";
    const bool is_receive = concurrent::racy_read(incoming.is_receive);
    operation.peer = incoming.peer.load(std::memory_order_relaxed);
    operation.has_tag = true;
    operation.tag = is_receive ? concurrent::racy_read(incoming.tag)
                               : static_cast<std::uint32_t>(concurrent::racy_read(incoming.word));
    operation.size = concurrent::racy_read(incoming.rts.size);
    operation.moved = incoming.received.load(std::memory_order_relaxed);
    operation.completion = is_receive ? concurrent::racy_read(incoming.completion)
                                      : context_.exposures.find(concurrent::racy_read(incoming.word));
    operation.device = device;
    operation.identity = std::uint64_t{incoming.index} << 32 | generation;
    std::atomic_thread_fence(std::memory_order_acquire);
    if (incoming.generation.load(std::memory_order_relaxed) == generation) list.add(operation);
  }
}

}  // namespace weft::core
