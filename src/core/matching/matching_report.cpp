// Lists what waits in a matching engine, for explanations.
#include "core/matching/matching_engine.hpp"

namespace weft::core {

namespace {

PendingOperation receive_of(const MatchRecord& record) noexcept {
  const MatchKey key = record.key();
  const auto policy = static_cast<MatchingPolicy>(key.policy);
  const bool by_rank = policy == MatchingPolicy::rank_and_tag || policy == MatchingPolicy::rank_only;
  const bool by_tag = policy != MatchingPolicy::rank_only && policy != MatchingPolicy::any;
  PendingOperation operation;
  operation.kind = PendingKind::receive;
  operation.state = policy == MatchingPolicy::user ? "posted, by the program's key" : "posted";
  // any_source is -1 as well.
  operation.peer = by_rank ? static_cast<std::int32_t>(key.source) : PendingOperation::kAnybody;
  operation.has_tag = by_tag;
  operation.tag = key.tag;
  operation.size = record.buffer.size();
  operation.completion = record.completion;
  ScatteredReceive::show(record.buffer, operation);
  return operation;
}

PendingOperation message_of(const Unexpected& unexpected, bool is_held) noexcept {
  PendingOperation operation;
  operation.kind = PendingKind::held_message;
  operation.state = is_held                     ? "held until the messages before it have come"
                    : unexpected.is_announced() ? "announced, no receive fits it"
                                                : "no receive fits it";
  operation.peer = unexpected.peer;
  operation.has_tag = true;
  operation.tag = unexpected.tag;
  operation.size = unexpected.length;
  return operation;
}

}  // namespace

void ScatteredReceive::show(MutableBytes buffer, PendingOperation& receive) noexcept {
  const ScatteredReceive* scattered = of(buffer);
  if (scattered == nullptr) return;
  receive.size = scattered->total_;
  receive.completion = scattered->completion_;
}

void MatchingEngine::describe(PendingList& list) noexcept {
  const auto visit = [&](const MatchRecord& record, MatchSide side, bool is_held) {
    if (side == MatchSide::unexpected && record.unexpected == nullptr) return;
    PendingOperation operation =
        side == MatchSide::posted ? receive_of(record) : message_of(*record.unexpected, is_held);
    // Ordered engines have one policy, and rank_only stands for a mask; in them any_tag is all ones.
    if (order_ != nullptr && side == MatchSide::posted) {
      operation.peer = static_cast<std::int32_t>(record.key().source);
      if (static_cast<MatchingPolicy>(record.key().policy) == MatchingPolicy::rank_only)
        operation.tag_mask = record.tag_mask;
      operation.has_tag = operation.tag != any_tag && operation.tag_mask != 0;
    }
    operation.engine = id_;
    operation.is_collective = needed_ranks_.is_collective(operation.tag);
    operation.identity = std::uint64_t{record.index()} << 32 | record.generation();
    list.add(operation);
  };
  if (order_ != nullptr)
    order_->for_each(visit);
  else
    table_.for_each([&](const MatchRecord& record, MatchSide side) { visit(record, side, false); });
}

}  // namespace weft::core
