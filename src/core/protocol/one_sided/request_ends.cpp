// Who ends the requests of one-sided accesses: peers that answer, the network, and peers that have left.
#include "core/protocol/one_sided/access_requests.hpp"

namespace weft::core {

AccessRequest* AccessRequests::claim(RequestName name, int peer, Operation operation) noexcept {
  using namespace request_word;
  Request* const named = requests_.find(name.index);
  if (named == nullptr) return nullptr;
  Request& request = *named;
  // Pairs with the release in take().
  std::uint64_t word = request.word.load(std::memory_order_acquire);
  do {
    if (generation_of(word) != name.generation || (word & kPieces) == 0 || (word & kAtNetwork) != 0 ||
        (word & kBusyMask) == kBusyMask)
      return nullptr;
  } while (!request.word.compare_exchange_weak(word, word - 1 + kBusy, std::memory_order_acq_rel,
                                               std::memory_order_acquire));
  if (request.peer.load(std::memory_order_relaxed) == peer && request.operation == operation) return &request;
  disclaim(request);
  return nullptr;
}

void AccessRequests::settle(Request& request, Outcome outcome) noexcept {
  using namespace request_word;
  const std::uint64_t after = update(request.word, [&](std::uint64_t word) {
    word -= kBusy;
    if (outcome != Outcome::ok) word |= kRefused;
    return word;
  });
  if ((after & kUnderWay) == 0) static_cast<void>(finish(request, outcome_of(after)));
}

void AccessRequests::disclaim(Request& request) noexcept {
  using namespace request_word;
  const std::uint64_t after = update(request.word, [](std::uint64_t word) {
    word -= kBusy;
    if ((word & (kLost | kExpired)) == 0) word += 1;
    return word;
  });
  if ((after & kUnderWay) == 0) static_cast<void>(finish(request, outcome_of(after)));
}

void AccessRequests::access_completed(std::uint64_t token, Outcome outcome) noexcept {
  using namespace request_word;
  const RequestName name = name_of(token);
  Request* const named = requests_.find(name.index);
  if (named == nullptr) return;
  Request& request = *named;
  std::uint64_t word = request.word.load(std::memory_order_acquire);
  std::uint64_t after = 0;
  do {
    if (generation_of(word) != name.generation || (word & kAtNetwork) == 0) return;
    after = word & ~kAtNetwork;
    if (outcome == Outcome::refused) after |= kRefused;
    if (outcome == Outcome::peer_failed) after |= kLost;
  } while (
      !request.word.compare_exchange_weak(word, after, std::memory_order_acq_rel, std::memory_order_acquire));
  // While kPosting is set the post has not returned, and finishes the request itself.
  if ((after & kUnderWay) == 0) static_cast<void>(finish(request, outcome_of(after)));
}

void AccessRequests::complete_lost(const std::atomic<bool>* is_over) noexcept {
  using namespace request_word;
  if (waiting_.load(std::memory_order_relaxed) == 0) return;
  for (Request& request : requests_) {
    std::uint64_t word = request.word.load(std::memory_order_acquire);
    if ((word & (kPosting | kAtNetwork)) != 0 || (word & kPieces) == 0) continue;
    const int peer = request.peer.load(std::memory_order_relaxed);
    if (!context_.port->has_left(peer) || !is_over[peer].load(std::memory_order_acquire)) continue;
    // Fails when the request has changed meanwhile: then another thread ends it, or the next call does.
    const std::uint64_t after = (word & ~kPieces) | kLost;
    if (request.word.compare_exchange_strong(word, after, std::memory_order_acq_rel) &&
        (after & kUnderWay) == 0)
      static_cast<void>(finish(request, outcome_of(after)));
  }
}

}  // namespace weft::core
