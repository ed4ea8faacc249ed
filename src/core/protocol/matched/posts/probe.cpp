// Cancelling receives, and probing for unexpected messages.
#include "core/protocol/matched/posts/engine_checks.hpp"
#include "core/protocol/matched/posts/receive_posts.hpp"
#include "core/protocol/timed_posts.hpp"

namespace weft::core {

using Table = MatchingEngine::Table;

bool ReceivePosts::cancel(const ReceiveHandle& handle) noexcept {
  return is_queued(handle) ? posts_.timed.cancel(node_of(handle)) : end(handle, Outcome::cancelled);
}

bool ReceivePosts::end(const ReceiveHandle& handle, Outcome outcome) noexcept {
  MatchingEngine* engine = engines_.find(handle.engine);
  MatchRecord* record = engine != nullptr ? engine->cancel(handle) : nullptr;
  if (record == nullptr) return false;
  end_unmatched(*engine, *record, outcome, posts_.context.device, &posts_.context.ends);
  return true;
}

bool ReceivePosts::cannot_succeed(int source, std::uint64_t tag,
                                  const ReceiveOptions& options) const noexcept {
  const MatchingEngine* const engine = engines_.find_existing(options.engine);
  return engine != nullptr && is_lost(*engine, source, tag, options);
}

bool ReceivePosts::probe(int source, std::uint64_t tag, const ReceiveOptions& options, ProbedMessage& found) {
  const auto tell = [&](const MatchRecord& record) {
    found = {record.unexpected->peer, record.unexpected->tag, record.unexpected->length};
  };
  if (options.engine >= kMatchingEngines) {
    MatchingEngine& ordered = check_ordered(source, options, "probe");
    return ordered.order()->visit_message(OrderedMatching::key_of(source, tag, options.tag_mask), tell,
                                          options.tag_mask);
  }
  check_tag_mask(options, "probe");
  check_source(source, options.policy, posts_.context, "probe");
  MatchingEngine& engine = check_engine(engines_, options.engine, options.policy, "probe");
  return engine.table().visit_oldest(Table::Side::unexpected, engine.keys().of(source, tag, options.policy),
                                     tell);
}

std::pair<MatchingEngine*, MatchRecord*> ReceivePosts::matched_probe(int source, std::uint64_t tag,
                                                                     const ReceiveOptions& options) {
  if (options.engine >= kMatchingEngines) {
    MatchingEngine& ordered = check_ordered(source, options, "matched_probe");
    return {&ordered, ordered.order()->take_message(OrderedMatching::key_of(source, tag, options.tag_mask),
                                                    options.tag_mask)};
  }
  check_tag_mask(options, "matched_probe");
  check_source(source, options.policy, posts_.context, "matched_probe");
  MatchingEngine& engine = check_engine(engines_, options.engine, options.policy, "matched_probe");
  return {&engine, engine.take_message(engine.keys().of(source, tag, options.policy))};
}

}  // namespace weft::core
