#include "study/matching/algorithms/fuzzy_matching.hpp"

namespace weft::tools::study {

void FuzzyMatching::reserve(Item items, int /*ranks*/) {
  receives_.resize(items);
  messages_.resize(items);
  posted_.reserve(items);
  waiting_.reserve(items);
}

MatchingAlgorithm::Found FuzzyMatching::take_receive(const MatchEnvelope& message) noexcept {
  const Found found =
      posted_.find(digest_of(message), [&](Item receive) { return receives_[receive].accepts(message); });
  if (found.item != kNone) remove_receive(found.item);
  return found;
}

void FuzzyMatching::add_message(Item message, const MatchEnvelope& envelope) noexcept {
  messages_[message] = envelope;
  waiting_.append(message, digest_of(envelope));
}

MatchingAlgorithm::Found FuzzyMatching::take_message(const MatchPattern& receive) noexcept {
  const Found found = find_message(receive);
  if (found.item != kNone) remove_message(found.item);
  return found;
}

void FuzzyMatching::add_receive(Item receive, const MatchPattern& pattern) noexcept {
  receives_[receive] = pattern;
  posted_.append(receive, digest_of(pattern));
}

MatchingAlgorithm::Found FuzzyMatching::find_message(const MatchPattern& receive) const noexcept {
  return waiting_.find(digest_of(receive), [&](Item message) { return receive.accepts(messages_[message]); });
}

void FuzzyMatching::remove_receive(Item receive) noexcept { posted_.remove(receive); }

void FuzzyMatching::remove_message(Item message) noexcept { waiting_.remove(message); }

}  // namespace weft::tools::study
