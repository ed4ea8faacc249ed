#include "bindings/mpi/deadlocks/sighting.hpp"

#include <algorithm>
#include <vector>

namespace weft::mpi {

namespace {

constexpr std::size_t kDescribedRanks = 8;

using Ranks = std::vector<std::size_t>;

std::string named(const Ranks& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  const std::size_t most = std::min(ranks.size(), kDescribedRanks);
  for (std::size_t index = 0; index < most; ++index)
    text += (index == 0 ? "" : index + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[index]);
  return most < ranks.size() ? text + " and " + std::to_string(ranks.size() - most) + " more" : text;
}

const Sighting::Progress* progress_in(const Sighting& rank, std::uint64_t sequence) {
  for (std::size_t index = 0; index < Sighting::kAsked; ++index)
    if (rank.asked[index] == sequence && rank.progress[index].is_known != 0) return &rank.progress[index];
  return nullptr;
}

bool was_asked(const Sighting& rank, std::uint64_t sequence) {
  return std::ranges::find(rank.asked, sequence) != rank.asked.end();
}

struct Reason {
  std::string sentence;
  Ranks awaited;
};

/// Those that have not come so far in the collectives of the communicator, have called another one there, or
/// have left this one.
void describe_collective(std::span<const Sighting> all, std::size_t rank, Reason& reason) {
  const Sighting& own = all[rank];
  Ranks behind, past, gone;
  std::string other_call;
  for (std::size_t other = 0; other < all.size(); ++other) {
    if (other == rank) continue;
    const Sighting::Progress* const theirs = progress_in(all[other], own.sequence);
    if (theirs == nullptr) {
      if (other / 64 < own.members.size() && (own.members[other / 64] >> (other % 64) & 1) != 0 &&
          was_asked(all[other], own.sequence))
        gone.push_back(other);
      continue;
    }
    const bool is_in_it = all[other].sequence == own.sequence && all[other].step == own.step;
    if (theirs->steps < own.step) {
      behind.push_back(other);
    } else if (theirs->steps == own.step && std::string(theirs->last) != own.step_name &&
               *own.step_name != 0) {
      if (other_call.empty())
        other_call = "rank " + std::to_string(other) + " calls " + theirs->last +
                     " in its place: all ranks must call the same";
      reason.awaited.push_back(other);
    } else if (!is_in_it) {
      past.push_back(other);
    }
  }
  if (!other_call.empty()) reason.sentence += "; " + other_call;
  if (!behind.empty())
    reason.sentence += "; " + named(behind) + (behind.size() == 1 ? " has" : " have") + " not called it";
  if (other_call.empty() && behind.empty() && !past.empty())
    reason.sentence += "; " + named(past) + (past.size() == 1 ? " has" : " have") +
                       " gone on from it: the ranks have passed different counts or roots";
  if (!gone.empty())
    reason.sentence += "; " + named(gone) + (gone.size() == 1 ? " has" : " have") + " freed the communicator";
  if (reason.awaited.empty() && behind.empty() && past.empty() && gone.empty())
    reason.sentence += "; all members are in it, and their roots or counts do not fit each other";
  for (const Ranks& more : {behind, past, gone})
    reason.awaited.insert(reason.awaited.end(), more.begin(), more.end());
}

Reason reason_of(std::span<const Sighting> all, std::size_t rank) {
  const Sighting& own = all[rank];
  Reason reason{"Rank " + std::to_string(rank) + " waits in " + own.text, {}};
  if (own.is_for_all != 0) {
    for (std::size_t other = 0; other < all.size(); ++other)
      if (all[other].is_for_all == 0) reason.awaited.push_back(other);
  } else if (own.sequence != 0) {
    describe_collective(all, rank, reason);
  } else if (own.peer >= 0 && static_cast<std::size_t>(own.peer) < all.size()) {
    reason.awaited.push_back(static_cast<std::size_t>(own.peer));
  }
  return reason;
}

/// Ranks that wait for each other, beginning with the lowest one.
Ranks circle_of(const std::vector<Reason>& reasons) {
  for (std::size_t start = 0; start < reasons.size(); ++start) {
    std::vector<std::size_t> came_from(reasons.size(), reasons.size());
    Ranks reached{start};
    for (std::size_t index = 0; index < reached.size(); ++index)
      for (const std::size_t next : reasons[reached[index]].awaited) {
        if (next == start) {
          Ranks circle;
          for (std::size_t rank = reached[index]; rank != start; rank = came_from[rank])
            circle.push_back(rank);
          circle.push_back(start);
          std::reverse(circle.begin(), circle.end());
          return circle;
        }
        if (came_from[next] != reasons.size()) continue;
        came_from[next] = reached[index];
        reached.push_back(next);
      }
  }
  return {};
}

}  // namespace

SendsUnderWay sends_of(std::span<const Sighting> all) {
  SendsUnderWay sends;
  for (const Sighting& rank : all) {
    for (std::uint32_t index = 0; index < std::min(rank.sends.count, SendsUnderWay::kMost); ++index)
      sends.add(rank.sends.sends[index]);
    if (rank.sends.count > SendsUnderWay::kMost) sends.count = SendsUnderWay::kMost + 1;
  }
  return sends;
}

namespace {

/// Of several messages that only one receive could tell apart, one may be under way while another one lies
/// there.
bool are_all_unreceived(const SendsUnderWay& sends, std::span<const Sighting> all) {
  if (sends.count > SendsUnderWay::kMost) return false;
  for (std::uint32_t index = 0; index < sends.count; ++index) {
    const SendUnderWay& send = sends.sends[index];
    if (std::count(sends.sends.begin(), sends.sends.begin() + sends.count, send) != 1) return false;
    const auto to = static_cast<std::size_t>(send.to);
    if (to >= all.size() || (all[to].unreceived >> index & 1) == 0) return false;
  }
  return true;
}

}  // namespace

bool is_deadlock(std::span<const Sighting> before, std::span<const Sighting> now, const Sighting& question) {
  if (sends_of(now) != question.sends || !are_all_unreceived(question.sends, now)) return false;
  if (before.size() != now.size()) return false;
  Traffic sum;
  for (std::size_t rank = 0; rank < now.size(); ++rank) {
    if (now[rank].waits != before[rank].waits || now[rank].traffic != before[rank].traffic) return false;
    sum.sent += now[rank].traffic.sent;
    sum.arrived += now[rank].traffic.arrived;
    sum.control_sent += now[rank].traffic.control_sent;
    sum.control_arrived += now[rank].traffic.control_arrived;
    sum.arriving += now[rank].traffic.arriving;
  }
  return sum.arriving == 0 && sum.sent == sum.arrived && sum.control_sent == sum.control_arrived;
}

std::string described(std::span<const Sighting> all) {
  std::vector<Reason> reasons;
  for (std::size_t rank = 0; rank < all.size(); ++rank) reasons.push_back(reason_of(all, rank));
  const Ranks circle = circle_of(reasons);
  Ranks order = circle;
  // Who waits in MPI_Finalize is done, and comes last.
  for (const bool is_done : {false, true})
    for (std::size_t rank = 0; rank < all.size(); ++rank)
      if ((all[rank].is_for_all != 0) == is_done && std::ranges::find(circle, rank) == circle.end())
        order.push_back(rank);
  std::string text;
  for (std::size_t index = 0; index < std::min(order.size(), kDescribedRanks); ++index)
    text += (text.empty() ? "" : " ") + reasons[order[index]].sentence + ".";
  if (order.size() > kDescribedRanks)
    text += " " + std::to_string(order.size() - kDescribedRanks) + " more ranks wait.";
  if (circle.size() == 1) return text + " So rank " + std::to_string(circle[0]) + " waits for itself.";
  if (circle.empty()) return text;
  std::string path;
  for (const std::size_t rank : circle) path += std::to_string(rank) + " -> ";
  Ranks sorted = circle;
  std::ranges::sort(sorted);
  return text + " So " + named(sorted) + " wait for each other (" + path + std::to_string(circle[0]) + ").";
}

}  // namespace weft::mpi
