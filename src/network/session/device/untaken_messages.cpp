#include "network/session/device/untaken_messages.hpp"

#include "base/clock.hpp"

#include <map>

namespace weft::network::session {

namespace {

constexpr std::int64_t kDeviceDrains = 20'000'000;  // nanoseconds

}  // namespace

bool UntakenMessages::are_none(const Scope& scope) noexcept {
  credits_.return_all();  // peers may be draining as well
  const bool is_with_peers = !scope.counts_carried && context_.transport.outlives_sender() &&
                             staging_.is_empty() && !context_.transport.is_carrying();
  bool all = true;
  for (Link* link = links_.first(); link != nullptr; link = link->next) {
    if (context_.shared.peers.has_left(link->rank)) continue;
    if (link->rank == context_.shared.peers.rank() && !scope.counts_own) continue;
    if (is_with_peers && link->rank != context_.shared.peers.rank() &&
        context_.shared.peers.taker_of(link->rank) == Network::Taker::nobody)
      continue;  // it will find them when this thread lets it progress
    bool unasked = false;
    for (const Lane& lane : link->lanes) {
      if (lane.under_way() != 0) all = false;
      unasked |= lane.under_way() != 0 && lane.asked_at != lane.sent;
    }
    if (unasked) {
      static_cast<void>(credits_.ask(*link));
      asked_at_ = 0;
    }
  }
  return all;
}

bool UntakenMessages::awaits_watched() const noexcept {
  for (Link* link = links_.first(); link != nullptr; link = link->next)
    for (const Lane& lane : link->lanes)
      if (lane.under_way() != 0 && !context_.shared.peers.has_left(link->rank) &&
          (context_.shared.peers.is_watched_process(link->rank) ||
           (context_.transport.notices_end_of(*link) && !context_.shared.peers.is_in_process(link->rank))))
        return true;
  return false;
}

bool UntakenMessages::have_been_awaited() noexcept {
  const std::int64_t now = base::now_ns();
  if (asked_at_ == 0) asked_at_ = now;
  return now - asked_at_ > kDeviceDrains;
}

std::string UntakenMessages::describe() const {
  std::map<int, std::uint64_t> by_rank;
  for (const Link* link = links_.first(); link != nullptr; link = link->next)
    for (const Lane& lane : link->lanes)
      if (lane.under_way() != 0 && !context_.shared.peers.has_left(link->rank))
        by_rank[link->rank] += lane.messages_under_way();
  std::string text;
  for (const auto& [rank, count] : by_rank)
    text += (text.empty() ? "" : ", ") + std::string("up to ") + std::to_string(count) +
            " messages to rank " + std::to_string(rank);
  return text;
}

std::vector<Port::Unconsumed> UntakenMessages::by_link() const {
  std::vector<Port::Unconsumed> all;
  for (const Link* link = links_.first(); link != nullptr; link = link->next) {
    std::uint64_t count = 0;
    for (const Lane& lane : link->lanes) count += lane.messages_under_way();
    if (count != 0 && !context_.shared.peers.has_left(link->rank))
      all.push_back({link->rank, count, false, false});
  }
  return all;
}

}  // namespace weft::network::session
