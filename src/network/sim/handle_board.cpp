#include "network/sim/handle_board.hpp"

#include <algorithm>

namespace weft::network::sim {

void HandleBoard::publish(std::uint16_t id, std::uint16_t generation, HandleState state, std::uint64_t now,
                          std::uint64_t visible_at) {
  std::vector<Entry>& history = entries_[id];
  if (!history.empty()) visible_at = std::max(visible_at, history.back().visible_at);
  // Of the states that peers can see already, only the last one counts.
  std::size_t seen = 0;
  while (seen + 1 < history.size() && history[seen + 1].visible_at <= now) ++seen;
  history.erase(history.begin(), history.begin() + static_cast<std::ptrdiff_t>(seen));
  history.push_back({visible_at, generation, state});
}

SendResult HandleBoard::admission(std::uint64_t word, std::uint64_t now) const noexcept {
  const auto generation = static_cast<std::uint16_t>(word >> 32);
  const auto history = entries_.find(static_cast<std::uint16_t>(word >> 48));
  const Entry* seen = nullptr;
  if (history != entries_.end())
    for (const Entry& entry : history->second)
      if (entry.visible_at <= now) seen = &entry;
  if (seen == nullptr || seen->generation < generation) return SendResult::not_ready;
  // Older and withdrawn handles are sent: the receiver refuses, counts and reports them.
  const bool stopped = seen->generation == generation && seen->state == HandleState::stopped;
  return stopped ? SendResult::no_credit : SendResult::sent;
}

}  // namespace weft::network::sim
