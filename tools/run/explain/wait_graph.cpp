#include "run/explain/wait_graph.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

namespace weft::tools::run {
namespace {

constexpr std::size_t kNamedRanks = 8;
constexpr std::size_t kNamedOperations = 3;  // operations named per wait

using Ranks = std::vector<ObservedRank>;

const ObservedRank* find(const Ranks& ranks, std::int64_t rank) {
  return rank >= 0 && rank < static_cast<std::int64_t>(ranks.size()) ? &ranks[static_cast<std::size_t>(rank)]
                                                                     : nullptr;
}

std::string tag_of(const OperationReport& operation) {
  if (operation.is_collective) return "the tag of a collective";
  if (!operation.has_tag) return "any tag";
  return operation.tag_text.empty() ? fmt::format("tag {}", operation.tag) : operation.tag_text;
}

/// The send of `from` that would match a receive of rank `to`, if it is still under way.
const OperationReport* find_send(const ObservedRank& from, int to, const OperationReport& receive) {
  if (!from.report) return nullptr;
  for (const OperationReport& operation : from.report->operations)
    if (operation.kind == "send" && operation.peer == to &&
        (!receive.has_tag || ((operation.tag ^ receive.tag) & receive.tag_mask) == 0))
      return &operation;
  return nullptr;
}

/// Describes unexpected messages: "2 messages from rank 1 with tag 3 (8 bytes), ..."; empty when there are
/// none.
std::string held_messages(const RankReport& report, std::int64_t peer) {
  std::string text;
  std::size_t count = 0;
  for (const OperationReport& operation : report.operations) {
    if (operation.kind != "held message" || (peer >= 0 && operation.peer != peer)) continue;
    if (++count > kNamedOperations) continue;
    text += fmt::format("{} rank {} with {} ({} bytes)", text.empty() ? "" : ",", operation.peer,
                        tag_of(operation), operation.size);
  }
  if (count == 0) return "";
  if (count > kNamedOperations) text += fmt::format(" and {} more", count - kNamedOperations);
  return fmt::format("{} from{}", count == 1 ? "a message" : "messages", text);
}

/// Describes a receive. `with_held`: also the unexpected messages, which match no receive.
std::string describe_receive(const Ranks& ranks, int rank, const OperationReport& receive, bool with_held) {
  const RankReport& own = *ranks[static_cast<std::size_t>(rank)].report;
  std::string text = receive.peer < 0
                         ? fmt::format("a message from any rank with {}", tag_of(receive))
                         : fmt::format("a message from rank {} with {}", receive.peer, tag_of(receive));
  if (const ObservedRank* peer = find(ranks, receive.peer); peer != nullptr) {
    if (const OperationReport* send = find_send(*peer, rank, receive); send != nullptr)
      text += fmt::format(", which rank {} has posted ({} bytes: {})", receive.peer, send->size, send->state);
    else if (!peer->end.empty())
      text += fmt::format(", but rank {} has ended ({})", receive.peer, peer->end);
    else if (peer->report)
      text += fmt::format(", which rank {} has not sent", receive.peer);
  }
  if (const std::string held = with_held ? held_messages(own, receive.peer) : ""; !held.empty())
    text += fmt::format("; what rank {} holds meanwhile fits no receive: {}", rank, held);
  return text;
}

/// Describes why a post to an object of a peer is refused as not ready: "rank 1 has not exposed id 1".
std::string describe_unready(const Ranks& ranks, std::int64_t peer, std::int64_t id) {
  const ObservedRank* const observed = find(ranks, peer);
  if (observed == nullptr) return fmt::format("rank {} is not ready", peer);
  if (!observed->end.empty()) return fmt::format("rank {} has ended ({})", peer, observed->end);
  if (!observed->report) return fmt::format("rank {} has no runtime (yet), or does not answer", peer);
  const RankReport& report = *observed->report;
  if (std::find(report.exposed.begin(), report.exposed.end(), id) != report.exposed.end())
    return fmt::format("rank {} has exposed id {}, but has not opened the device of the handle", peer, id);
  if (report.has_more_exposed && !report.exposed.empty() && id > report.exposed.back())
    return fmt::format("rank {} has not exposed id {}, or has not opened the device of the handle", peer, id);
  std::string others;
  for (std::size_t number = 0; number < std::min(report.exposed.size(), kNamedOperations); ++number)
    others += fmt::format("{}{}", number == 0 ? "" : ", ", report.exposed[number]);
  if (report.exposed.size() > kNamedOperations || report.has_more_exposed) others += ", ...";
  return fmt::format("rank {} has not exposed id {}{}", peer, id,
                     others.empty() ? " (nor any other)" : fmt::format(" (it has exposed {})", others));
}

/// Returns true when the operation waits for memory of its own rank: no other rank can end it.
bool lacks_memory(const OperationReport& operation) {
  return operation.kind == "arrival" && operation.state.starts_with("no memory");
}

std::string describe(const Ranks& ranks, int rank, const OperationReport& operation) {
  if (operation.kind == "receive") return describe_receive(ranks, rank, operation, true);
  if (lacks_memory(operation))
    return fmt::format("memory for a large message of {} bytes from rank {} with {} ({})", operation.size,
                       operation.peer, tag_of(operation), operation.state);
  if (operation.kind == "arrival")
    return fmt::format("the rest of a large message from rank {} with {} ({} bytes: {})", operation.peer,
                       tag_of(operation), operation.size, operation.state);
  if (operation.remote_id >= 0)
    return fmt::format("rank {} to take an active message with {} ({} bytes): {}", operation.peer,
                       tag_of(operation), operation.size,
                       describe_unready(ranks, operation.peer, operation.remote_id));
  if (operation.kind == "send" || operation.kind == "active message")
    return fmt::format("rank {} to take {} with {} ({} bytes: {})", operation.peer,
                       operation.kind == "send" ? "a message" : "an active message", tag_of(operation),
                       operation.size, operation.state);
  return fmt::format("rank {} to answer {} {} of {} bytes ({})", operation.peer,
                     operation.kind == "atomic operation" ? "an" : "a", operation.kind, operation.size,
                     operation.state);
}

/// Describes what other ranks do at the step that `rank` waits in: "; rank 1 has called MPI_Reduce
/// there". Ranks that have not come so far are added to `awaited`.
std::string describe_step(const Ranks& ranks, int rank, const WaitReport& wait, std::vector<int>& awaited) {
  if (wait.sequence == 0) return "";
  std::vector<int> behind;
  std::string text;
  for (std::size_t other = 0; other < ranks.size(); ++other) {
    if (!ranks[other].report || static_cast<int>(other) == rank) continue;
    for (const SequenceReport& sequence : ranks[other].report->sequences) {
      if (sequence.sequence != wait.sequence) continue;
      if (sequence.steps < wait.step)
        behind.push_back(static_cast<int>(other));
      else if (sequence.steps == wait.step && sequence.last != wait.step_name && text.empty())
        text = fmt::format("; but rank {} has called {} as number {} there: all ranks must call the same",
                           other, sequence.last, wait.step);
    }
  }
  if (behind.empty()) return text;
  for (const int other : behind)
    if (std::ranges::find(awaited, other) == awaited.end()) awaited.push_back(other);
  return text +
         fmt::format("; {} {} not called it yet", name_ranks(behind), behind.size() == 1 ? "has" : "have");
}

/// The purpose of a `wait` of `rank`, and the ranks that could end it.
Reason reason_of(const Ranks& ranks, int rank, const WaitReport& wait) {
  const RankReport& own = *ranks[static_cast<std::size_t>(rank)].report;
  Reason reason;
  reason.sentence = fmt::format("Rank {} waits{}", rank, wait.is_in_handler ? " inside a handler" : "");
  if (!wait.context.empty()) reason.sentence += fmt::format(" in {}", wait.context);
  if (wait.line != 0) reason.sentence += fmt::format(" at {}:{}", wait.file, wait.line);
  reason.sentence += fmt::format(" ({:.1f} s) for ", wait.seconds);

  if (wait.is_in_handler) {
    reason.sentence += wait.what;
    if (wait.peer >= 0) reason.sentence += fmt::format(" to rank {}", wait.peer);
    reason.sentence +=
        ", which nothing can end: its device delivers nothing before the handler returns; handlers post, and "
        "wait outside";
    reason.awaited.push_back(rank);
    return reason;
  }
  if (wait.remote_id >= 0 && wait.refusal == "not_ready") {
    reason.sentence += fmt::format("{} to rank {}: {}", wait.what, wait.peer,
                                   describe_unready(ranks, wait.peer, wait.remote_id));
    reason.awaited.push_back(static_cast<int>(wait.peer));
    return reason;
  }
  if (wait.is_for_all) {
    for (std::size_t other = 0; other < ranks.size(); ++other) {
      const auto& report = ranks[other].report;
      if (!report || std::none_of(report->waits.begin(), report->waits.end(),
                                  [&](const WaitReport& theirs) { return theirs.what == wait.what; }))
        reason.awaited.push_back(static_cast<int>(other));
    }
    reason.sentence += wait.what;
    if (!reason.awaited.empty())
      reason.sentence += fmt::format(", which {} {} not entered", name_ranks(reason.awaited),
                                     reason.awaited.size() == 1 ? "has" : "have");
    return reason;
  }

  if (wait.is_whole) {
    reason.sentence += wait.what;
    if (wait.operations)
      for (const std::size_t index : *wait.operations)
        if (index < own.operations.size() && own.operations[index].peer >= 0 &&
            std::ranges::find(reason.awaited, own.operations[index].peer) == reason.awaited.end())
          reason.awaited.push_back(static_cast<int>(own.operations[index].peer));
    if (wait.peer >= 0) {
      reason.awaited.push_back(static_cast<int>(wait.peer));
    } else {
      for (const OperationReport& operation : own.operations)
        if (operation.is_collective && operation.peer >= 0 && operation.kind != "held message" &&
            std::ranges::find(reason.awaited, operation.peer) == reason.awaited.end())
          reason.awaited.push_back(static_cast<int>(operation.peer));
    }
    if (!reason.awaited.empty())
      reason.sentence += fmt::format(", and there for {}", name_ranks(reason.awaited));
    reason.sentence += describe_step(ranks, rank, wait, reason.awaited);
    return reason;
  }

  std::vector<const OperationReport*> causes;
  if (wait.operations) {
    for (const std::size_t index : *wait.operations)
      if (index < own.operations.size()) causes.push_back(&own.operations[index]);
  } else {
    for (const OperationReport& operation : own.operations)
      if (wait.completion != "0" && operation.completion == wait.completion) causes.push_back(&operation);
  }
  const bool is_direct = !causes.empty();
  if (!is_direct) {
    reason.sentence += wait.what;
    if (wait.peer >= 0 && !wait.operations) reason.sentence += fmt::format(" to rank {}", wait.peer);
    if (const std::string held = wait.operations ? held_messages(own, wait.peer) : ""; !held.empty())
      reason.sentence += fmt::format("; what rank {} holds meanwhile does not fit: {}", rank, held);
    if (wait.exposed >= 0)
      reason.sentence +=
          fmt::format(", to which ranks send as id {}: no operation of its own will signal it", wait.exposed);
    // Graphs and handlers have no link from operations to the wait: then all operations of the rank are
    // considered.
    for (const OperationReport& operation : own.operations)
      if (operation.kind != "held message" && (wait.peer < 0 || operation.peer == wait.peer) &&
          wait.exposed < 0 && !wait.operations)
        causes.push_back(&operation);
    if (!causes.empty()) reason.sentence += "; pending there: ";
  }
  for (std::size_t number = 0; number < causes.size(); ++number) {
    if (causes[number]->peer >= 0 && !lacks_memory(*causes[number]))
      reason.awaited.push_back(static_cast<int>(causes[number]->peer));
    if (number >= kNamedOperations) continue;
    reason.sentence += (number == 0 ? ""
                        : is_direct ? ", and for "
                                    : ", and ") +
                       describe(ranks, rank, *causes[number]);
  }
  if (causes.size() > kNamedOperations)
    reason.sentence += fmt::format(" (and {} operations more)", causes.size() - kNamedOperations);
  if (causes.empty() && wait.peer >= 0) reason.awaited.push_back(static_cast<int>(wait.peer));
  return reason;
}

}  // namespace

std::string name_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  const std::size_t named = std::min(ranks.size(), kNamedRanks);
  for (std::size_t i = 0; i < named; ++i) {
    const bool is_last = i + 1 == ranks.size();
    text += i == 0 ? "" : is_last ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  if (named < ranks.size()) text += fmt::format(" and {} more", ranks.size() - named);
  return text;
}

std::vector<std::vector<Reason>> reasons_of(const std::vector<ObservedRank>& ranks, std::size_t limit) {
  std::vector<std::vector<Reason>> reasons(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks[rank].report) continue;
    for (const WaitReport& wait : ranks[rank].report->waits) {
      if (reasons[rank].size() == limit) break;
      reasons[rank].push_back(reason_of(ranks, static_cast<int>(rank), wait));
    }
  }
  return reasons;
}

std::string left_undone(const std::vector<ObservedRank>& ranks, int rank) {
  const RankReport& report = *ranks[static_cast<std::size_t>(rank)].report;
  std::vector<std::string> parts;
  if (report.waits.empty()) {
    std::vector<const OperationReport*> receives;
    for (const OperationReport& operation : report.operations)
      if (operation.kind == "receive" && operation.seconds > 0) receives.push_back(&operation);
    std::sort(receives.begin(), receives.end(),
              [](const auto* one, const auto* other) { return one->seconds > other->seconds; });
    std::string text;
    for (std::size_t number = 0; number < std::min(receives.size(), kNamedOperations); ++number)
      text += fmt::format("{} for at least {:.1f} s a receive of {}", number == 0 ? "has posted" : ", and",
                          receives[number]->seconds, describe_receive(ranks, rank, *receives[number], false));
    if (receives.size() > kNamedOperations)
      text += fmt::format(" (and {} receives more)", receives.size() - kNamedOperations);
    if (!text.empty()) parts.push_back(text);
    if (const std::string held = held_messages(report, -1); !held.empty())
      parts.push_back("holds " + held + " that no receive fits");
  }
  for (std::size_t number = 0; number < std::min(report.queues.size(), kNamedOperations); ++number)
    if (const QueueReport& queue = report.queues[number]; queue.seconds > 0)
      parts.push_back(fmt::format(
          "has {} {} in the object exposed as id {}, of which nobody has taken one for "
          "at least {:.1f} s",
          queue.messages, queue.messages == 1 ? "message" : "messages", queue.exposed, queue.seconds));
  for (const RefusalsReport& refusals : report.refusals)
    parts.push_back(fmt::format(
        "was refused {} {} since the last look ({}{})", refusals.count,
        refusals.count == 1 ? "post" : "posts", refusals.reason,
        refusals.remote_id >= 0 ? ": " + describe_unready(ranks, refusals.peer, refusals.remote_id) : ""));
  std::string text;
  for (const std::string& part : parts)
    text += (text.empty() ? fmt::format("Rank {} ", rank) : "; it ") + part;
  return text;
}

std::vector<int> find_circle(const std::vector<std::vector<Reason>>& reasons) {
  enum class Mark : char { unseen, open, closed };
  std::vector<Mark> marks(reasons.size(), Mark::unseen);
  std::vector<int> path;
  std::vector<int> circle;
  const std::function<bool(int)> visit = [&](int rank) {
    if (rank < 0 || rank >= static_cast<int>(reasons.size())) return false;
    Mark& mark = marks[static_cast<std::size_t>(rank)];
    if (mark == Mark::closed) return false;
    if (mark == Mark::open) {
      circle.assign(std::find(path.begin(), path.end(), rank), path.end());
      return true;
    }
    mark = Mark::open;
    path.push_back(rank);
    for (const Reason& reason : reasons[static_cast<std::size_t>(rank)])
      for (const int awaited : reason.awaited)
        if (visit(awaited)) return true;
    path.pop_back();
    mark = Mark::closed;
    return false;
  };
  for (int rank = 0; rank < static_cast<int>(reasons.size()) && circle.empty(); ++rank) visit(rank);
  std::rotate(circle.begin(), std::min_element(circle.begin(), circle.end()), circle.end());
  return circle;
}

}  // namespace weft::tools::run
