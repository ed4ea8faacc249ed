#include "study/matching/algorithms/bin_matching.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>

namespace weft::tools::study {

BinMatching::BinMatching(std::size_t bins) {
  if (bins == 0 || bins > kMostBins)
    throw Error(fmt::format("matching algorithm bins: {} bins; it takes 1 to {}", bins, kMostBins));
  bins_.resize(bins);
}

void BinMatching::reserve(Item items, int /*ranks*/) {
  receives_.resize(items);
  messages_.resize(items);
}

MatchingAlgorithm::Found BinMatching::take_receive(const MatchEnvelope& message) noexcept {
  Found found = bins_[bin_of(message.source, message.tag)].posted.find(
      receives_, [&](const Receive& receive) { return receive.pattern.accepts(message); });
  for (Item item = with_wildcards_.first(); item != kNone; item = ItemList<Receive>::next(receives_, item)) {
    if (found.item != kNone && receives_[found.item].number < receives_[item].number) break;
    ++found.depth;
    if (receives_[item].pattern.accepts(message)) {
      found.item = item;
      break;
    }
  }
  if (found.item != kNone) remove_receive(found.item);
  return found;
}

void BinMatching::add_message(Item message, const MatchEnvelope& envelope) noexcept {
  messages_[message].envelope = envelope;
  bins_[bin_of(envelope.source, envelope.tag)].waiting.append(messages_, message);
  all_messages_.append(messages_, message);
}

MatchingAlgorithm::Found BinMatching::take_message(const MatchPattern& receive) noexcept {
  const Found found = find_message(receive);
  if (found.item != kNone) remove_message(found.item);
  return found;
}

void BinMatching::add_receive(Item receive, const MatchPattern& pattern) noexcept {
  receives_[receive].pattern = pattern;
  receives_[receive].number = posted_++;
  list_of(pattern).append(receives_, receive);
}

MatchingAlgorithm::Found BinMatching::find_message(const MatchPattern& receive) const noexcept {
  const auto accepts = [&](const Message& message) { return receive.accepts(message.envelope); };
  if (receive.has_wildcard()) return all_messages_.find(messages_, accepts);
  return bins_[bin_of(receive.source, receive.tag)].waiting.find(messages_, accepts);
}

void BinMatching::remove_receive(Item receive) noexcept {
  list_of(receives_[receive].pattern).remove(receives_, receive);
}

void BinMatching::remove_message(Item message) noexcept {
  const MatchEnvelope& envelope = messages_[message].envelope;
  bins_[bin_of(envelope.source, envelope.tag)].waiting.remove(messages_, message);
  all_messages_.remove(messages_, message);
}

std::size_t BinMatching::bin_of(int source, std::uint64_t tag) const noexcept {
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
  constexpr std::uint64_t kOfSource = 0xC2B2AE3D27D4EB4F;
  const std::uint64_t key = (tag + static_cast<std::uint64_t>(source) * kOfSource) * kGoldenRatio;
  // The upper half, which depends on all bits of the key, as a fraction of the number of bins.
  return ((key >> 32) * bins_.size()) >> 32;
}

ItemList<BinMatching::Receive>& BinMatching::list_of(const MatchPattern& pattern) noexcept {
  return pattern.has_wildcard() ? with_wildcards_ : bins_[bin_of(pattern.source, pattern.tag)].posted;
}

}  // namespace weft::tools::study
