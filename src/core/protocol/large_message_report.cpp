// Large messages that are under way, for explanations.
#include "core/protocol/glance.hpp"
#include "core/protocol/large_message_records.hpp"

namespace weft::core {

/// A look at records of other threads: copied without having them, and listed when they have not changed
/// hands meanwhile.
WEFT_GLANCES void LargeMessages::describe(PendingList& list) const noexcept {
  const auto device = static_cast<std::int32_t>(context_.device);
  for (std::uint32_t index = 0; index < context_.requests; ++index) {
    const Request& request = requests_[index];
    const std::uint32_t generation = request.generation.load(std::memory_order_acquire);
    // Pairs with the release in start().
    const Request::State state = request.state.load(std::memory_order_acquire);
    if (state == Request::State::free || state == Request::State::ended) continue;
    PendingOperation operation;
    operation.kind =
        glance(request.operation) == Operation::send ? PendingKind::send : PendingKind::active_message;
    operation.state =
        state == Request::State::streaming ? "sent in pieces" : "announced, the peer has not asked for it";
    operation.peer = request.peer.load(std::memory_order_relaxed);
    operation.has_tag = true;
    operation.tag = glance(request.tag);
    operation.size = glance(request.size);
    operation.moved = glance(request.sent);
    operation.completion = glance(request.completion);
    operation.device = device;
    operation.identity = std::uint64_t{index} << 32 | generation;
    std::atomic_thread_fence(std::memory_order_acquire);
    if (request.generation.load(std::memory_order_relaxed) == generation) list.add(operation);
  }
  for (std::uint32_t index = 0; index < context_.requests; ++index) {
    const Incoming& incoming = incoming_[index];
    const std::uint32_t generation = incoming.generation.load(std::memory_order_acquire);
    const Incoming::State state = incoming.state.load(std::memory_order_acquire);
    if (state == Incoming::State::free) continue;
    PendingOperation operation;
    operation.kind = PendingKind::arrival;
    operation.state = state == Incoming::State::needs_memory ? "waits for a buffer"
                      : state == Incoming::State::reading    ? "read from the peer's memory"
                      : state == Incoming::State::asking     ? "about to be asked for"
                      : state == Incoming::State::answering  ? "about to be answered"
                      : state == Incoming::State::forgotten  ? "withdrawn by its sender, who is to be told"
                                                             : "received in pieces";
    const bool is_receive = glance(incoming.is_receive);
    operation.peer = incoming.peer.load(std::memory_order_relaxed);
    operation.has_tag = true;
    operation.tag = is_receive ? glance(incoming.tag) : static_cast<std::uint32_t>(glance(incoming.word));
    operation.size = glance(incoming.announcement.size);
    operation.moved = incoming.received.load(std::memory_order_relaxed);
    operation.completion = is_receive ? glance(incoming.completion) : nullptr;
    operation.device = device;
    operation.identity = std::uint64_t{index} << 32 | generation;
    std::atomic_thread_fence(std::memory_order_acquire);
    if (incoming.generation.load(std::memory_order_relaxed) == generation) list.add(operation);
  }
}

}  // namespace weft::core
