// One-sided accesses whose deadline passes, and those whose completion object is destroyed.
//
// An access by messages ends at once: its pieces are removed from the request's word, and answers that arrive
// later find another generation, so that no answer is copied into a buffer that belongs to the user again.
// Pieces were copied when they were sent. What the target does with them is not reported any more.
#include "concurrent/racy_read.hpp"
#include "core/completion/object_end.hpp"
#include "core/protocol/one_sided/access_requests.hpp"

namespace weft::core {

WEFT_READS_RACILY bool AccessRequests::is_due(const Request& request, const Due& due) noexcept {
  const Completion* const completion = concurrent::racy_read(request.options.completion);
  return completion == due.piece_completed
             ? due.is_piece_due(due.vectored, concurrent::racy_read(request.options.user_data))
             : due.deadlines.is_due(completion);
}

void AccessRequests::expire(const Due& due) noexcept {
  using namespace request_word;
  if (counts_.outstanding.load(std::memory_order_relaxed) == 0) return;
  for (Request& request : requests_) {
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
    // The generation has not changed: what was read belongs to this access, which cannot end meanwhile.
    while (may_expire()) {
      const std::uint64_t after = (word & ~kPieces) | kExpired;
      if (!request.word.compare_exchange_weak(word, after, std::memory_order_acq_rel,
                                              std::memory_order_acquire))
        continue;
      // Otherwise the thread that handles an answer ends the access, or step(), which has more pieces to
      // send.
      if ((after & kUnderWay) == 0) static_cast<void>(finish(request, outcome_of(after)));
      break;
    }
  }
}

void AccessRequests::reject_unknown(const Message& arrival, const char* what, std::uint64_t word,
                                    network::Sink& sink) const noexcept {
  if (!has_expired_.load(std::memory_order_relaxed)) sink.reject(arrival.peer(), what, name_of(word).index);
}

WEFT_READS_RACILY bool AccessRequests::may_name(const Completion& object) const noexcept {
  if (counts_.outstanding.load(std::memory_order_relaxed) == 0) return false;
  for (const Request& request : requests_) {
    if (concurrent::racy_read(request.options.completion) == &object &&
        (request.word.load(std::memory_order_relaxed) & request_word::kUnderWay) != 0)
      return true;
  }
  return false;
}

WEFT_READS_RACILY void AccessRequests::forget_object(const Completion& object,
                                                     DetachedOperations& instead) noexcept {
  for (Request& request : requests_) {
    if (concurrent::racy_read(request.options.completion) != &object ||
        (request.word.load(std::memory_order_acquire) & request_word::kUnderWay) == 0)
      continue;
    instead.add();
    *const_cast<Completion* volatile*>(&request.options.completion) = &instead;
  }
}

}  // namespace weft::core
