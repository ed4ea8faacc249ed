#include "core/matching/ordered_matching.hpp"

#include "concurrent/backoff.hpp"

#include <utility>

namespace weft::core {

auto OrderedMatching::enter() noexcept -> Hold {
  for (concurrent::Backoff backoff;; backoff.wait()) {
    if (const Hold hold = try_enter(); hold != nullptr) return hold;
    if (observer_ != nullptr) observer_->missed_lock();
  }
}

/// Returns the last held message whose number is not beyond `number`, or nullptr.
MatchRecord* ArrivalSequence::last_held_until(std::uint32_t number) const noexcept {
  // Compared by distance, because numbers wrap round.
  const std::uint32_t ahead = number - expected;
  MatchRecord* before = held.last();
  while (before != nullptr && static_cast<std::uint32_t>(before->order) - expected > ahead)
    before = before->previous;
  return before;
}

bool ArrivalSequence::holds(std::uint32_t number) const noexcept {
  const MatchRecord* last = last_held_until(number);
  return last != nullptr && last->order == number;
}

void ArrivalSequence::hold(std::uint32_t number, const MatchKey& key, MatchRecord& message) noexcept {
  message.set_key(key);
  message.order = number;
  held.insert_behind(last_held_until(number), message);
}

MatchRecord* OrderedMatching::match_held(ArrivalSequence& stream, MatchRecord*& late,
                                         const MatchingContexts* contexts) noexcept {
  MatchRecord* first = nullptr;
  MatchRecord* last = nullptr;
  for (;;) {
    MatchRecord* const message = stream.held.first();
    if (message == nullptr || message->order != stream.expected) return first;
    if (contexts != nullptr && contexts->is_late(message->key().tag)) [[unlikely]] {
      stream.held.remove(*message);
      message->next = std::exchange(late, message);
      ++stream.expected;
      continue;
    }
    const auto [answer, receive] = match(message->key(), [&] {
      stream.held.remove(*message);
      return message;
    });
    // No room for its key: the message stays held, and is tried again with the next arrival.
    if (answer == Answer::exhausted) [[unlikely]]
      return first;
    ++stream.expected;
    if (answer != Answer::matched) continue;
    stream.held.remove(*message);
    receive->unexpected = std::exchange(message->unexpected, nullptr);
    records_.release(*message);
    receive->next = nullptr;
    (first == nullptr ? first : last->next) = receive;
    last = receive;
  }
}

MatchRecord* OrderedMatching::take_message(const MatchKey& key, std::uint64_t tag_mask) noexcept {
  const Hold hold = enter();
  MatchRecord* message = find_message(key, tag_mask);
  if (message != nullptr) {
    unlink_message(*message);
    if (observer_ != nullptr) observer_->taken(key, tag_mask);
  }
  leave(hold);
  return message;
}

/// `depth`: null, or what the number of entries compared is added to.
MatchRecord* OrderedMatching::find_message(const MatchKey& wanted, std::uint64_t tag_mask,
                                           std::uint32_t* depth) noexcept {
  if (algorithm_ != nullptr) return algorithm_->find_message(wanted, tag_mask);
  MatchRecord* found = nullptr;
  if (!is_wildcard(wanted)) {
    table_.visit_oldest(MatchSide::unexpected, wanted, [&](MatchRecord& message) { found = &message; });
    if (depth != nullptr) *depth += table_.compared(wanted);
    return found;
  }
  std::uint32_t compared = 0;
  for (found = messages_.first(); found != nullptr; found = found->next) {
    ++compared;
    if (fits(wanted, tag_mask, found->key())) break;
  }
  if (depth != nullptr) *depth += compared;
  return found;
}

void OrderedMatching::unlink_message(MatchRecord& message) noexcept {
  if (algorithm_ != nullptr) return algorithm_->remove(message);
  static_cast<void>(table_.unlink(message, [] { return true; }));
  messages_.remove(message);
}

/// Returns the oldest wildcard receive that the key matches; null when there is none, or when a receive of
/// the table was posted before it.
[[gnu::noinline]] MatchRecord* OrderedMatching::find_receive_among_wildcards(MatchKey key,
                                                                             std::uint32_t* depth) noexcept {
  std::uint32_t compared = 0;
  MatchRecord* found = wildcards_.first();
  for (; found != nullptr; found = found->next) {
    ++compared;
    if (fits(found->key(), found->tag_mask, key)) break;
  }
  if (depth != nullptr) *depth += compared;
  if (found == nullptr) return nullptr;
  const MatchRecord* const exact = table_.find_oldest(MatchSide::posted, key);
  return exact != nullptr && exact->order < found->order ? nullptr : found;
}

[[gnu::noinline]] MatchRecord* OrderedMatching::take_receive_among_wildcards(MatchKey key,
                                                                             std::uint32_t* depth) noexcept {
  MatchRecord* const found = find_receive_among_wildcards(key, depth);
  if (found != nullptr) remove_wildcard(*found);
  return found;
}

bool OrderedMatching::unlink_here(MatchRecord& record) noexcept {
  if (record.waits_elsewhere()) {
    if (algorithm_ != nullptr)
      algorithm_->remove(record);
    else
      remove_wildcard(record);
    return true;
  }
  // Of a record that does not wait, another thread may be changing everything else.
  if (!record.is_linked()) return false;
  if (!record.is_receive()) messages_.remove(record);
  return table_.unlink(record, [] { return true; });
}

}  // namespace weft::core
