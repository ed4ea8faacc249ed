// What others look for among the requests of a rendezvous: deadlines, lost peers, objects, explanations.
#include "concurrent/racy_read.hpp"
#include "core/completion/object_end.hpp"
#include "core/matching/matching_engines.hpp"
#include "core/protocol/message_class.hpp"
#include "core/protocol/rendezvous/rendezvous_sender.hpp"

namespace weft::core {

using network::Outgoing;

bool RendezvousSender::is_collective(std::uint16_t engine, std::uint64_t tag) const noexcept {
  const MatchingEngine* const found = context_.engines->find_existing(engine);
  return found != nullptr && found->needed_ranks().is_collective(tag);
}

bool RendezvousSender::is_given_up(std::uint16_t engine, std::uint64_t tag) const noexcept {
  const MatchingEngine* const found = context_.engines->find_existing(engine);
  return found != nullptr && found->needed_ranks().is_given_up(tag, true);
}

WEFT_READS_RACILY void RendezvousSender::cancel(const Context& poster, const Deadlines& deadlines,
                                                bool has_failures, Caller caller) const noexcept {
  if (counts_.outstanding.load(std::memory_order_relaxed) == 0) return;
  for (const Request& request : requests_) {
    const std::uint32_t generation = request.state.generation();
    if (request.state.load() != Request::State::announced) continue;
    if (!deadlines.is_due(concurrent::racy_read(request.completion)) &&
        !(has_failures && concurrent::racy_read(request.needs_all_ranks) &&
          is_given_up(concurrent::racy_read(request.engine), concurrent::racy_read(request.tag))))
      continue;
    const Cancel cancel{{request.index, generation}, context_.device, concurrent::racy_read(request.engine)};
    // Sent after the RTS, where the network keeps the order.
    const Outgoing outgoing{
        request.peer.load(std::memory_order_relaxed),
        concurrent::racy_read(request.transfer_device),
        traffic_of(concurrent::racy_read(request.message_class)),
        static_cast<std::uint8_t>(Channel::cancel),
        false,
        concurrent::racy_read(request.operation) == Operation::send ? std::uint64_t{1} : std::uint64_t{0}};
    std::atomic_thread_fence(std::memory_order_acquire);
    if (request.state.generation() != generation) continue;
    // A refused cancel is sent again by the next call, and requests whose peer has left have ended by then.
    static_cast<void>(poster.port->send(outgoing, bytes_of(cancel), caller));
  }
}

void RendezvousSender::complete_lost(const std::atomic<bool>* is_over) noexcept {
  for (Request& request : requests_) {
    const std::uint32_t generation = request.state.generation();
    if (request.state.load() != Request::State::announced || !is_lost(context_, request.peer, is_over))
      continue;
    // By now the record may serve another message, or this one be streaming: step() ends it then.
    const Request::State before = request.state.hold(generation);
    if (before == Request::State::free) continue;
    const bool ends = before == Request::State::announced;
    request.state.let_go(ends ? Request::State::ended : before);
    if (ends) end(request, Outcome::peer_failed);
  }
}

WEFT_READS_RACILY bool RendezvousSender::may_name(const Completion& object) const noexcept {
  for (const Request& request : requests_)
    if (names(request, object)) return true;
  return false;
}

WEFT_READS_RACILY void RendezvousSender::forget_object(const Completion& object,
                                                       DetachedOperations& instead) noexcept {
  for (Request& request : requests_) {
    if (!names(request, object)) continue;
    instead.add();
    *const_cast<Completion* volatile*>(&request.completion) = &instead;
  }
}

WEFT_READS_RACILY bool RendezvousSender::names(const Request& request, const Completion& object) noexcept {
  return concurrent::racy_read(request.completion) == &object && request.state.load() != Request::State::free;
}

/// Reads records of other threads: copies them without owning them, and lists those that have not changed
/// owner meanwhile.
WEFT_READS_RACILY void RendezvousSender::describe(PendingList& list) const noexcept {
  const auto device = static_cast<std::int32_t>(context_.device);
  for (const Request& request : requests_) {
    const std::uint32_t generation = request.state.generation();
    const Request::State state = request.state.load();
    if (state == Request::State::free || state == Request::State::ended) continue;
    PendingOperation operation;
    operation.kind = concurrent::racy_read(request.operation) == Operation::send
                         ? PendingKind::send
                         : PendingKind::active_message;
    operation.state =
        state == Request::State::streaming ? "sent in pieces" : "announced, the peer has not asked for it";
    operation.peer = request.peer.load(std::memory_order_relaxed);
    operation.has_tag = true;
    operation.tag = concurrent::racy_read(request.tag);
    const std::uint16_t engine = concurrent::racy_read(request.engine);
    operation.is_collective =
        concurrent::racy_read(request.needs_all_ranks) && is_collective(engine, operation.tag);
    // So that the tag is shown in the words of who uses the engine, or without its context.
    if (operation.kind == PendingKind::send) operation.engine = engine;
    operation.size = concurrent::racy_read(request.size);
    operation.moved = concurrent::racy_read(request.sent);
    operation.completion = concurrent::racy_read(request.completion);
    operation.device = device;
    operation.identity = std::uint64_t{request.index} << 32 | generation;
    std::atomic_thread_fence(std::memory_order_acquire);
    if (request.state.generation() == generation) list.add(operation);
  }
}

}  // namespace weft::core
