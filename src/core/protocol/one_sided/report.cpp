// Lists the puts, gets and atomic operations in progress, for explanations.
#include "concurrent/racy_read.hpp"
#include "core/protocol/one_sided/access_requests.hpp"

namespace weft::core {

/// Reads records of other threads without owning them; see Rendezvous::describe().
WEFT_READS_RACILY void AccessRequests::describe(PendingList& list) const noexcept {
  using namespace request_word;
  for (const Request& request : requests_) {
    // Pairs with the release in take().
    const std::uint64_t word = request.word.load(std::memory_order_acquire);
    if ((word & kUnderWay) == 0) continue;
    PendingOperation operation;
    const Operation kind = concurrent::racy_read(request.operation);
    operation.kind = kind == Operation::put   ? PendingKind::put
                     : kind == Operation::get ? PendingKind::get
                                              : PendingKind::atomic;
    operation.state = (word & kAtNetwork) != 0 ? "at the network"
                      : (word & kPosting) != 0 ? "sent in pieces"
                                               : "sent, the peer has not answered";
    operation.peer = request.peer.load(std::memory_order_relaxed);
    operation.size = concurrent::racy_read(request.size);
    operation.moved = concurrent::racy_read(request.sent);
    operation.completion = concurrent::racy_read(request.options.completion);
    operation.device = static_cast<std::int32_t>(context_.device);
    operation.identity = std::uint64_t{request.index} << 32 | generation_of(word);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (generation_of(request.word.load(std::memory_order_relaxed)) == generation_of(word))
      list.add(operation);
  }
}

}  // namespace weft::core
