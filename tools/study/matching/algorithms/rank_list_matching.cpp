#include "study/matching/algorithms/rank_list_matching.hpp"

namespace weft::tools::study {

void RankListMatching::reserve(Item items, int ranks) {
  receives_.resize(items);
  messages_.resize(items);
  sources_.resize(static_cast<std::size_t>(ranks));
}

MatchingAlgorithm::Found RankListMatching::take_receive(const MatchEnvelope& message) noexcept {
  using List = ItemList<Receive>;
  Item of_source = sources_[static_cast<std::size_t>(message.source)].posted.first();
  Item of_any = from_any_source_.first();
  Found found;
  while (of_source != kNone || of_any != kNone) {
    const bool takes_any =
        of_source == kNone || (of_any != kNone && receives_[of_any].number < receives_[of_source].number);
    Item& next = takes_any ? of_any : of_source;
    ++found.depth;
    if (receives_[next].pattern.accepts(message)) {
      found.item = next;
      remove_receive(next);
      break;
    }
    next = List::next(receives_, next);
  }
  return found;
}

void RankListMatching::add_message(Item message, const MatchEnvelope& envelope) noexcept {
  messages_[message].envelope = envelope;
  sources_[static_cast<std::size_t>(envelope.source)].waiting.append(messages_, message);
  all_messages_.append(messages_, message);
}

MatchingAlgorithm::Found RankListMatching::take_message(const MatchPattern& receive) noexcept {
  const Found found = find_message(receive);
  if (found.item != kNone) remove_message(found.item);
  return found;
}

void RankListMatching::add_receive(Item receive, const MatchPattern& pattern) noexcept {
  receives_[receive].pattern = pattern;
  receives_[receive].number = posted_++;
  list_of(pattern).append(receives_, receive);
}

MatchingAlgorithm::Found RankListMatching::find_message(const MatchPattern& receive) const noexcept {
  const auto accepts = [&](const Message& message) { return receive.accepts(message.envelope); };
  if (receive.accepts_any_source()) return all_messages_.find(messages_, accepts);
  return sources_[static_cast<std::size_t>(receive.source)].waiting.find(messages_, accepts);
}

void RankListMatching::remove_receive(Item receive) noexcept {
  list_of(receives_[receive].pattern).remove(receives_, receive);
}

void RankListMatching::remove_message(Item message) noexcept {
  sources_[static_cast<std::size_t>(messages_[message].envelope.source)].waiting.remove(messages_, message);
  all_messages_.remove(messages_, message);
}

ItemList<RankListMatching::Receive>& RankListMatching::list_of(const MatchPattern& pattern) noexcept {
  if (pattern.accepts_any_source()) return from_any_source_;
  return sources_[static_cast<std::size_t>(pattern.source)].posted;
}

}  // namespace weft::tools::study
