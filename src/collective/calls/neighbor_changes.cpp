#include "collective/calls/neighbor_changes.hpp"

#include <algorithm>
#include <bit>

namespace weft::collective {

std::span<const int> NeighborChanges::begin(const detail::CollectiveCall& call, bool with_before) {
  if (std::ranges::equal(call.sources, sources_) && std::ranges::equal(call.destinations, destinations_))
    return {};
  asked_.clear();
  const auto ask = [this](std::span<const int> ranks) {
    asked_.insert(asked_.end(), ranks.begin(), ranks.end());
  };
  if (with_before) {
    ask(sources_);
    ask(destinations_);
  }
  ask(call.sources);
  ask(call.destinations);
  std::ranges::sort(asked_);
  asked_.erase(std::ranges::unique(asked_).begin(), asked_.end());
  sources_.assign(call.sources.begin(), call.sources.end());
  destinations_.assign(call.destinations.begin(), call.destinations.end());
  ++changes_;
  if (changes_ > kAlwaysAsked && !std::has_single_bit(changes_)) return {};
  return asked_;
}

}  // namespace weft::collective
