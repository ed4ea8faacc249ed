#include "study/matching/algorithms/list_matching.hpp"

namespace weft::tools::study {

void ListMatching::reserve(Item items, int /*ranks*/) {
  receives_.resize(items);
  messages_.resize(items);
}

MatchingAlgorithm::Found ListMatching::take_receive(const MatchEnvelope& message) noexcept {
  const Found found =
      posted_.find(receives_, [&](const Receive& receive) { return receive.pattern.accepts(message); });
  if (found.item != kNone) remove_receive(found.item);
  return found;
}

void ListMatching::add_message(Item message, const MatchEnvelope& envelope) noexcept {
  messages_[message].envelope = envelope;
  waiting_.append(messages_, message);
}

MatchingAlgorithm::Found ListMatching::take_message(const MatchPattern& receive) noexcept {
  const Found found = find_message(receive);
  if (found.item != kNone) remove_message(found.item);
  return found;
}

void ListMatching::add_receive(Item receive, const MatchPattern& pattern) noexcept {
  receives_[receive].pattern = pattern;
  posted_.append(receives_, receive);
}

MatchingAlgorithm::Found ListMatching::find_message(const MatchPattern& receive) const noexcept {
  return waiting_.find(messages_, [&](const Message& message) { return receive.accepts(message.envelope); });
}

void ListMatching::remove_receive(Item receive) noexcept { posted_.remove(receives_, receive); }

void ListMatching::remove_message(Item message) noexcept { waiting_.remove(messages_, message); }

}  // namespace weft::tools::study
