// Included by matching_engine.hpp: its slow paths.
#pragma once

#include "core/matching/matching_engine.hpp"

namespace weft::core {

template <class Make>
auto MatchingEngine::pair_observed(MatchSide side, const MatchKey& key, Make& make) noexcept
    -> Table::Result {
  MatchSearch search(observer_.get(), side, key);
  // Told before other threads can match the record.
  const auto make_noted = [&]() -> MatchRecord* {
    search.stop();
    MatchRecord* const record = make();
    if (record != nullptr) search.not_found(side == MatchSide::posted ? identity_of(*record) : 0);
    return record;
  };
  const Table::Result result = table_.pair(side, key, make_noted, search.depth);
  if (result.answer == Table::Answer::matched) search.found();
  if (result.answer == Table::Answer::contended) observer_->missed_lock();
  return result;
}

template <class IsPassedOn>
void MatchingEngine::forget_object(const Completion& object, DetachedOperations& instead,
                                   const IsPassedOn& is_passed_on) noexcept {
  if (scattered_.load(std::memory_order_acquire))
    for (std::uint32_t index = 0; index < scattered_receives_->made(); ++index)
      if (ScatteredReceive* receive = scattered_receives_->find(index);
          receive != nullptr && receive->pass_on(object, instead))
        instead.add();
  const auto is_named = [&](const MatchRecord& record) {
    if (!waits(record) || !record.is_receive()) return false;
    const ScatteredReceive* const scattered = ScatteredReceive::of(record.buffer);
    return record.completion == &object || is_passed_on(record.completion) ||
           (scattered != nullptr && scattered->passes_on_to(instead));
  };
  unlink_where(is_named, [&](MatchRecord& record) {
    if (record.completion == &object) {
      record.completion = &instead;
      instead.add();
    }
    end_unmatched(*this, record, Outcome::cancelled);
  });
}

template <class IsGone>
void MatchingEngine::end_peers(const IsGone& is_gone, bool any_failed) noexcept {
  const auto is_of_peers = [&](const MatchRecord& record) {
    // Otherwise another thread may be using the record.
    if (!waits(record)) return false;
    if (!record.is_receive()) return record.unexpected->is_announced() && is_gone(record.unexpected->peer);
    if (needed_ranks_.is_given_up(record.key().tag, any_failed)) return true;
    const int source = only_source(record.key());
    return source >= 0 && is_gone(source);
  };
  unlink_where(is_of_peers, [this](MatchRecord& record) {
    if (record.is_receive())
      end_unmatched(*this, record, Outcome::peer_failed);
    else
      storage_.release(record);
  });
}

}  // namespace weft::core
