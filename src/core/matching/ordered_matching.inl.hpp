// Included by ordered_matching.hpp: its slow paths.
#pragma once

#include "core/matching/ordered_matching.hpp"

namespace weft::core {

template <class Make>
auto OrderedMatching::match(const MatchKey& key, Make&& make) noexcept -> Table::Result {
  if (is_observed()) [[unlikely]]
    return match_observed(key, make);
  if (wildcards_.first() != nullptr) [[unlikely]]
    if (MatchRecord* receive = take_receive_among_wildcards(key); receive != nullptr)
      return {Answer::matched, receive};
  const Table::Result result = table_.pair(MatchSide::unexpected, key, make);
  if (result.answer == Answer::kept) messages_.append(*result.record);
  return result;
}

template <class Make>
auto OrderedMatching::match_observed(const MatchKey& key, Make& make) noexcept -> Table::Result {
  MatchSearch search(observer_, MatchSide::unexpected, key);
  MatchRecord* receive = nullptr;
  if (algorithm_ != nullptr) {
    receive = algorithm_->take_receive(key, search.depth);
  } else {
    receive = take_receive_among_wildcards(key, &search.depth);
    search.depth += table_.compared(key);
    if (receive == nullptr) receive = table_.take(MatchSide::posted, key);
  }
  search.stop();
  if (receive != nullptr) {
    search.found();
    return {Answer::matched, receive};
  }
  if (algorithm_ == nullptr) {
    const Table::Result result = table_.pair(MatchSide::unexpected, key, make);
    if (result.answer != Answer::kept) return result;
    messages_.append(*result.record);
    search.not_found(0);
    return result;
  }
  MatchRecord* const message = make();
  if (message == nullptr) return {Answer::exhausted, nullptr};
  algorithm_->add_message(*message, key);
  search.not_found(0);
  return {Answer::kept, message};
}

template <class Make>
auto OrderedMatching::arrive(int peer, std::uint8_t device, std::uint32_t number, std::uint64_t tag,
                             const Make& make, const MatchingContexts* contexts) noexcept -> Arrival {
  Arrival result;
  const Hold hold = try_enter();
  if (hold == nullptr) {
    if (observer_ != nullptr) observer_->missed_lock();
    return result;
  }
  ArrivalSequence& stream = arrivals(peer, device);
  const MatchKey key{tag, static_cast<std::uint32_t>(peer), 0};
  const std::uint32_t ahead = number - stream.expected;
  if (ahead >> 31 != 0 || stream.holds(number)) {
    result.answer = Arrival::Answer::rejected;
  } else if (ahead == 0) {
    const auto [answer, record] = match(key, make);
    if (answer != Answer::exhausted) {
      result.answer = answer == Answer::matched ? Arrival::Answer::matched : Arrival::Answer::kept;
      result.record = record;
      ++stream.expected;
      result.due = match_held(stream, result.late, contexts);
    }
  } else if (MatchRecord* record = make(); record != nullptr) {
    stream.hold(number, key, *record);
    result.answer = Arrival::Answer::kept;
    result.due = match_held(stream, result.late, contexts);
  }
  leave(hold);
  return result;
}

template <class Make>
auto OrderedMatching::post(const MatchKey& key, Make&& make, std::uint64_t tag_mask) noexcept
    -> Table::Result {
  const std::uint64_t order = posted_ + 1;
  const auto make_posted = [&]() -> MatchRecord* {
    MatchRecord* receive = make();
    if (receive != nullptr) receive->order = posted_ = order;
    return receive;
  };
  if (is_observed()) [[unlikely]]
    return post_observed(key, make_posted, tag_mask);
  if (!is_wildcard(key)) [[likely]] {
    const Table::Result result = table_.pair(MatchSide::posted, key, make_posted);
    if (result.answer == Answer::matched) messages_.remove(*result.record);
    return result;
  }
  if (MatchRecord* message = find_message(key, tag_mask); message != nullptr) {
    unlink_message(*message);
    return {Answer::matched, message};
  }
  MatchRecord* receive = make_posted();
  if (receive == nullptr) return {Answer::exhausted, nullptr};
  add_wildcard(*receive, key, tag_mask);
  return {Answer::kept, receive};
}

/// `make`: of post(), which gives the receive its number.
template <class Make>
auto OrderedMatching::post_observed(const MatchKey& key, Make& make, std::uint64_t tag_mask) noexcept
    -> Table::Result {
  MatchSearch search(observer_, MatchSide::posted, key, tag_mask);
  MatchRecord* message = nullptr;
  if (algorithm_ != nullptr) {
    message = algorithm_->take_message(key, tag_mask, search.depth);
  } else if (message = find_message(key, tag_mask, &search.depth); message != nullptr) {
    unlink_message(*message);
  }
  search.stop();
  if (message != nullptr) {
    search.found();
    return {Answer::matched, message};
  }
  MatchRecord* receive = nullptr;
  if (algorithm_ == nullptr && !is_wildcard(key)) {
    const Table::Result result = table_.pair(MatchSide::posted, key, make);
    if (result.answer != Answer::kept) return result;
    receive = result.record;
  } else if (receive = make(); receive == nullptr) {
    return {Answer::exhausted, nullptr};
  } else if (algorithm_ != nullptr) {
    algorithm_->add_receive(*receive, key, tag_mask, receive->order);
  } else {
    add_wildcard(*receive, key, tag_mask);
  }
  search.not_found(identity_of(*receive));
  return {Answer::kept, receive};
}

template <class Still>
bool OrderedMatching::unlink(MatchRecord& record, const Still& still) noexcept {
  const Hold hold = enter();
  const bool taken = still() && unlink_here(record);
  leave(hold);
  return taken;
}

template <class Visit>
bool OrderedMatching::visit_message(const MatchKey& key, const Visit& visit,
                                    std::uint64_t tag_mask) noexcept {
  const Hold hold = enter();
  const MatchRecord* message = find_message(key, tag_mask);
  if (message != nullptr) visit(*message);
  leave(hold);
  return message != nullptr;
}

template <class Visit>
void OrderedMatching::for_each(const Visit& visit) noexcept {
  const Hold hold = enter();
  table_.for_each([&](const MatchRecord& record, MatchSide side) { visit(record, side, false); });
  for (const MatchRecord* record = wildcards_.first(); record != nullptr; record = record->next)
    visit(*record, MatchSide::posted, false);
  if (algorithm_ != nullptr) {
    for (const MatchRecord* record = algorithm_->receives().first(); record != nullptr; record = record->next)
      visit(*record, MatchSide::posted, false);
    for (const MatchRecord* record = algorithm_->messages().first(); record != nullptr; record = record->next)
      visit(*record, MatchSide::unexpected, false);
  }
  arrivals_->for_each([&](int, std::uint8_t, const ArrivalSequence& stream) {
    for (const MatchRecord* record = stream.held.first(); record != nullptr; record = record->next)
      visit(*record, MatchSide::unexpected, true);
  });
  leave(hold);
}

template <class CopyOf>
void OrderedMatching::take_over(OrderedMatching& from, const CopyOf& copy_of) {
  std::vector<MatchRecord*> receives;
  from.table_.clear([&](MatchRecord& record, MatchSide side) {
    if (side == MatchSide::posted) receives.push_back(&record);
  });
  const auto take_list = [](const RecordList& list, std::vector<MatchRecord*>& taken) {
    for (MatchRecord* record = list.first(); record != nullptr; record = record->next) {
      record->set_waits_elsewhere(false);
      taken.push_back(record);
    }
  };
  std::vector<MatchRecord*> messages;
  take_list(from.wildcards_, receives);
  take_list(from.messages_, messages);
  if (from.algorithm_ != nullptr) {
    take_list(from.algorithm_->receives(), receives);
    take_list(from.algorithm_->messages(), messages);
    from.algorithm_->forget_all();
  }
  std::sort(receives.begin(), receives.end(),
            [](const MatchRecord* a, const MatchRecord* b) { return a->order < b->order; });
  for (MatchRecord* record : receives) {
    const MatchKey key = record->key();
    const std::uint64_t tag_mask =
        is_wildcard(key) || from.algorithm_ != nullptr ? record->tag_mask : kWholeTag;
    record->order = 0;
    static_cast<void>(post(
        key, [&] { return copy_of(*record); }, tag_mask));
  }
  for (MatchRecord* record : messages)
    static_cast<void>(match(record->key(), [&] { return copy_of(*record); }));
  from.wildcards_ = from.messages_ = {};
  queued_receives_.store(from.queued_receives_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  sends_ = from.sends_;
  arrivals_ = std::move(from.arrivals_);
  arrivals_->for_each([&](int, std::uint8_t, ArrivalSequence& stream) {
    RecordList held;
    for (MatchRecord* record = stream.held.first(); record != nullptr;) {
      MatchRecord* const next = record->next;
      const MatchKey key = record->key();
      const std::uint64_t number = record->order;
      if (MatchRecord* copy = copy_of(*record); copy != nullptr) {
        copy->set_key(key);
        copy->order = number;
        held.append(*copy);
      }
      record = next;
    }
    stream.held = held;
  });
}

}  // namespace weft::core
