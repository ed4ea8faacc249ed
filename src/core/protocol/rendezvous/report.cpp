// Lists the rendezvous in progress, for explanations.
#include "concurrent/racy_read.hpp"
#include "core/protocol/rendezvous/records.hpp"

namespace weft::core {

/// Reads records of other threads: copies them without owning them, and lists those that have not changed
/// owner meanwhile.
WEFT_READS_RACILY void Rendezvous::describe(PendingList& list) const noexcept {
  const auto device = static_cast<std::int32_t>(context_.device);
  for (std::uint32_t index = 0; index < context_.requests; ++index) {
    const Request& request = requests_[index];
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
    operation.is_collective = concurrent::racy_read(request.needs_all_ranks);
    operation.size = concurrent::racy_read(request.size);
    operation.moved = concurrent::racy_read(request.sent);
    operation.completion = concurrent::racy_read(request.completion);
    operation.device = device;
    operation.identity = std::uint64_t{index} << 32 | generation;
    std::atomic_thread_fence(std::memory_order_acquire);
    if (request.state.generation() == generation) list.add(operation);
  }
  for (std::uint32_t index = 0; index < context_.requests; ++index) {
    const Incoming& incoming = incoming_[index];
    const std::uint32_t generation = incoming.generation.load(std::memory_order_acquire);
    const Incoming::State state = incoming.state.load(std::memory_order_acquire);
    if (state == Incoming::State::free) continue;
    PendingOperation operation;
    operation.kind = PendingKind::arrival;
    operation.state = state == Incoming::State::waiting
                          ? "waits until others of this rank have been fetched (rendezvous_bytes)"
                      : state == Incoming::State::needs_memory
                          ? "no memory for it: its allocator has no room for so many bytes now"
                      : state == Incoming::State::refused
                          ? "refused, because its allocator will never have room: its sender is to be told"
                      : state == Incoming::State::reading   ? "read from the peer's memory"
                      : state == Incoming::State::asking    ? "about to be asked for"
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
    operation.identity = std::uint64_t{index} << 32 | generation;
    std::atomic_thread_fence(std::memory_order_acquire);
    if (incoming.generation.load(std::memory_order_relaxed) == generation) list.add(operation);
  }
}

void Rendezvous::describe_refusals(std::vector<std::string>& notes) const {
  const std::uint64_t count = refused_.load(std::memory_order_acquire);
  if (count == 0) return;
  notes.push_back("device " + std::to_string(context_.device) + " has refused " + std::to_string(count) +
                  " large message(s) because there never is memory for them, the last of " +
                  std::to_string(refused_size_.load(std::memory_order_relaxed)) + " bytes from rank " +
                  std::to_string(refused_peer_.load(std::memory_order_relaxed)));
}

}  // namespace weft::core
