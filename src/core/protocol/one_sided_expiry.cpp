// Accesses whose deadline passes.
//
// An access by messages ends at once: its pieces are taken out of the request's word, and answers that come
// later find another generation, so that none is ever copied into a buffer that has been given back. Pieces
// were copied when they were sent. What the target does with them, nobody is told any more.
#include "core/protocol/glance.hpp"
#include "core/protocol/one_sided_records.hpp"

namespace weft::core {

WEFT_GLANCES bool OneSided::is_due(const Request& request, const Due& due) noexcept {
  const Completion* const completion = glance(request.options.completion);
  return completion == due.piece_ended ? due.is_piece_due(due.vectored, glance(request.options.user_data))
                                       : due.deadlines.is_due(completion);
}

void OneSided::expire(const Due& due) noexcept {
  using namespace request_word;
  if (outstanding_.load(std::memory_order_relaxed) == 0) return;
  for (std::uint32_t index = 0; index < context_.requests; ++index) {
    Request& request = requests_[index];
    // Pairs with the release in take().
    std::uint64_t word = request.word.load(std::memory_order_acquire);
    const std::uint32_t generation = generation_of(word);
    const auto may_expire = [&] {
      return generation_of(word) == generation && (word & kUnderWay) != 0 &&
             (word & (kAtNetwork | kExpired | kLost)) == 0;
    };
    if (!may_expire() || !is_due(request, due)) continue;
    has_expired_.store(true, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    // The same generation: what was read is of this access, which cannot end meanwhile.
    while (may_expire()) {
      const std::uint64_t after = (word & ~kPieces) | kExpired;
      if (!request.word.compare_exchange_weak(word, after, std::memory_order_acq_rel,
                                              std::memory_order_acquire))
        continue;
      // Otherwise whoever handles an answer ends it, or step(), which has more to send.
      if ((after & kUnderWay) == 0) static_cast<void>(finish(request, outcome_of(after), false));
      break;
    }
  }
}

/// An answer that belongs to no access.
void OneSided::unknown(const Message& arrival, const char* what, std::uint64_t word,
                       network::Sink& sink) noexcept {
  if (!has_expired_.load(std::memory_order_relaxed)) sink.reject(arrival.peer(), what, name_of(word).index);
}

}  // namespace weft::core
