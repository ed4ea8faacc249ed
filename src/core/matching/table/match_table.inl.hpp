// Included by match_table.hpp: its fast paths.
#pragma once

#include "core/matching/table/match_table.hpp"

namespace weft::core {

template <class Record, template <class> class Atomic, class Threads>
MatchTable<Record, Atomic, Threads>::MatchTable(std::uint32_t buckets, bool serial, std::uint32_t overflow)
    : mask_(buckets - 1),
      above_(~mask_),
      serial_(serial),
      spare_count_(overflow != 0 ? overflow : std::max(std::uint32_t{65536}, 16 * buckets)),
      memory_((std::size_t{buckets} + spare_count_) * sizeof(Bucket), "the buckets of a matching engine"),
      home_(static_cast<Bucket*>(memory_.data())),
      spare_(home_ + buckets) {
  assert(std::has_single_bit(buckets));
  if constexpr (!kZeroIsEmpty)
    std::uninitialized_default_construct_n(home_, std::size_t{buckets} + spare_count_);
}

template <class Record, template <class> class Atomic, class Threads>
MatchTable<Record, Atomic, Threads>::~MatchTable() {
  if constexpr (!kZeroIsEmpty) std::destroy_n(home_, std::size_t{buckets()} + spare_count_);
}

template <class Record, template <class> class Atomic, class Threads>
template <class Make>
auto MatchTable<Record, Atomic, Threads>::pair(Side side, const MatchKey& key, Make&& make) noexcept
    -> Result {
  Bucket& home = home_of(key);
  const Hold hold = detail::enter(bias_, home.lock, serial_);
  if (hold == nullptr) return {Answer::contended, nullptr};
  const Result result = pair_in(home, side, key, make);
  detail::leave(hold, serial_);
  return result;
}

/// The inlined part is the common case: the bucket is empty, or its first slot holds the key.
template <class Record, template <class> class Atomic, class Threads>
template <class Make>
[[gnu::always_inline]] inline auto MatchTable<Record, Atomic, Threads>::pair_in(Bucket& home, Side side,
                                                                                const MatchKey& key,
                                                                                Make& make) noexcept
    -> Result {
  Position position{&home, 0};
  Link* oldest = nullptr;  // of the same side
  if (home.state != 0) {
    if (position.holds(key)) [[likely]] {
      if (position.side() != side) return {Answer::matched, take_oldest(home, position)};
      oldest = position.slot().oldest;
    } else if (position = find(home, key); position.bucket != nullptr) {
      if (position.side() != side) return {Answer::matched, take_further(home, position)};
      oldest = position.slot().oldest;
    } else {
      Answer refusal = Answer::exhausted;
      position = find_room(home, refusal);
      if (position.bucket == nullptr) return {refusal, nullptr};
    }
  }
  Record* record = make();
  if (record == nullptr) [[unlikely]] {
    if ((position.bucket->state & kAllOccupied) == 0 && position.bucket != &home)
      drop(home, *position.bucket);
    return {Answer::exhausted, nullptr};
  }
  link(position, oldest, *record, side, key);
  return {Answer::kept, record};
}

template <class Record, template <class> class Atomic, class Threads>
[[gnu::always_inline]] inline bool MatchTable<Record, Atomic, Threads>::Position::holds(
    const MatchKey& key) const noexcept {
  return slot().tag == key.tag && occupied() &&
         slot().oldest->origin_.load(std::memory_order_relaxed) == key.origin();
}

template <class Record, template <class> class Atomic, class Threads>
[[gnu::noinline]] auto MatchTable<Record, Atomic, Threads>::find(Bucket& home, MatchKey key) const noexcept
    -> Position {
  for (Bucket* bucket = &home;; bucket = &spare_[bucket->overflow]) {
    for (std::uint32_t number = 0; number < kSlots; ++number)
      if (const Position position{bucket, number}; position.holds(key)) return position;
    if ((bucket->state & kContinued) == 0) return {nullptr, 0};
    if (bucket == &home)
      long_searches_.store(long_searches_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
}

template <class Record, template <class> class Atomic, class Threads>
[[gnu::noinline]] auto MatchTable<Record, Atomic, Threads>::find_room(Bucket& home, Answer& refusal) noexcept
    -> Position {
  Bucket* last = &home;
  for (;; last = &spare_[last->overflow]) {
    if (const std::uint32_t free = ~last->state & kAllOccupied; free != 0)
      return {last, static_cast<std::uint32_t>(std::countr_zero(free))};
    if ((last->state & kContinued) == 0) break;
  }
  if (!enter(spare_lock_)) {
    refusal = Answer::contended;
    return {nullptr, 0};
  }
  std::uint32_t added = spare_free_;
  if (added != kNone) {
    spare_free_ = spare_[added].overflow;
  } else if (spare_used_ < spare_count_) {
    added = spare_used_++;
  }
  leave(spare_lock_);
  if (added == kNone) return {nullptr, 0};
  last->overflow = added;
  last->state |= kContinued;
  return {&spare_[added], 0};
}

/// Links a record. `oldest`: of the queue that the record continues, or nullptr when it begins one.
template <class Record, template <class> class Atomic, class Threads>
[[gnu::always_inline]] inline void MatchTable<Record, Atomic, Threads>::link(const Position& position,
                                                                             Link* oldest, Link& added,
                                                                             Side side,
                                                                             const MatchKey& key) noexcept {
  assert(added.linked_.load(std::memory_order_relaxed) == 0 && "the record is in a table already");
  if (oldest == nullptr) {
    position.bucket->state |= (kOccupied | (side == Side::unexpected ? kUnexpected : 0)) << position.number;
    position.slot() = {key.tag, &added};
    added.next_ = &added;
    added.previous_ = &added;
  } else {
    append(*oldest, added);
  }
  added.link_as(key);
}

template <class Record, template <class> class Atomic, class Threads>
[[gnu::always_inline]] inline void MatchTable<Record, Atomic, Threads>::append(Link& oldest,
                                                                               Link& added) noexcept {
  Link& newest = *oldest.previous_;
  added.next_ = &oldest;
  added.previous_ = &newest;
  newest.next_ = &added;
  oldest.previous_ = &added;
}

/// Returns true when the first slot holds records with this key of the side that is not `kSide`.
template <class Record, template <class> class Atomic, class Threads>
template <MatchSide kSide>
[[gnu::always_inline]] inline bool MatchTable<Record, Atomic, Threads>::holds_first(
    const Bucket& home, const MatchKey& key) noexcept {
  constexpr std::uint32_t kWanted =
      kSide == Side::posted ? kOccupied | kUnexpected : static_cast<std::uint32_t>(kOccupied);
  const Slot& first = home.slots[0];
  // The key is compared only after the state: a free slot names a record that may be in another use.
  return (home.state & (kOccupied | kUnexpected)) == kWanted && first.tag == key.tag &&
         first.oldest->origin_.load(std::memory_order_relaxed) == key.origin();
}

template <class Record, template <class> class Atomic, class Threads>
template <class Locking, MatchSide kSide>
[[gnu::always_inline]] inline Record* MatchTable<Record, Atomic, Threads>::try_take(const MatchKey& key,
                                                                                    Finder& finder) noexcept {
  Bucket& home = finder.find(*this, key.tag);
  const Hold hold = detail::enter_decided<Locking>(bias_, home.lock);
  if (hold == nullptr) [[unlikely]]
    return nullptr;
  if (!holds_first<kSide>(home, key)) [[unlikely]] {
    detail::leave<Locking>(hold);
    return nullptr;
  }
  Slot& first = home.slots[0];
  Link* const oldest = first.oldest;
  Link* const next = oldest->next_;
  if (next == oldest) {
    home.state &= ~(kOccupied | kUnexpected);
  } else {
    next->previous_ = oldest->previous_;
    oldest->previous_->next_ = next;
    first.oldest = next;
  }
  oldest->linked_.store(0, std::memory_order_relaxed);
  detail::leave<Locking>(hold);
  return static_cast<Record*>(oldest);
}

template <class Record, template <class> class Atomic, class Threads>
template <class Locking, MatchSide kSide, class Wants, class Take>
[[gnu::always_inline]] inline std::uint32_t MatchTable<Record, Atomic, Threads>::try_take_while(
    const MatchKey& key, Finder& finder, const Wants& wants, const Take& take) noexcept {
  Bucket& home = finder.find(*this, key.tag);
  const Hold hold = detail::enter_decided<Locking>(bias_, home.lock);
  if (hold == nullptr) [[unlikely]]
    return 0;
  std::uint32_t taken = 0;
  if (holds_first<kSide>(home, key)) [[likely]] {
    Slot& first = home.slots[0];
    Link* const newest = first.oldest->previous_;
    Link* oldest = first.oldest;
    bool is_last = false;
    while (!is_last && wants(static_cast<const Record&>(*oldest))) {
      Link* const record = oldest;
      is_last = record == newest;
      oldest = record->next_;
      record->linked_.store(0, std::memory_order_relaxed);
      ++taken;
      take(static_cast<Record&>(*record));
    }
    if (is_last) {
      home.state &= ~(kOccupied | kUnexpected);
    } else if (taken != 0) {
      first.oldest = oldest;
      oldest->previous_ = newest;
      newest->next_ = oldest;
    }
  }
  detail::leave<Locking>(hold);
  return taken;
}

template <class Record, template <class> class Atomic, class Threads>
template <class Locking, MatchSide kSide, class Make>
[[gnu::always_inline]] inline bool MatchTable<Record, Atomic, Threads>::try_add(const MatchKey& key,
                                                                                const Make& make) noexcept {
  constexpr std::uint32_t kOurs =
      kSide == Side::posted ? static_cast<std::uint32_t>(kOccupied) : kOccupied | kUnexpected;
  Bucket& home = home_of(key);
  const Hold hold = detail::enter_decided<Locking>(bias_, home.lock);
  if (hold == nullptr) [[unlikely]]
    return false;
  Slot& first = home.slots[0];
  const std::uint32_t state = home.state;
  Link* link = nullptr;
  if (state == 0) {
    link = make();
    if (link != nullptr) [[likely]] {
      home.state = kOurs;
      first = {key.tag, link};
      link->next_ = link;
      link->previous_ = link;
    }
  } else if ((state & (kOccupied | kUnexpected)) == kOurs && first.tag == key.tag &&
             first.oldest->origin_.load(std::memory_order_relaxed) == key.origin()) {
    link = make();
    if (link != nullptr) [[likely]]
      append(*first.oldest, *link);
  }
  if (link != nullptr) [[likely]] {
    assert(link->linked_.load(std::memory_order_relaxed) == 0 && "the record is in a table already");
    link->link_as(key);
  }
  detail::leave<Locking>(hold);
  return link != nullptr;
}

template <class Record, template <class> class Atomic, class Threads>
[[gnu::always_inline]] inline Record* MatchTable<Record, Atomic, Threads>::take_oldest(
    Bucket& home, const Position& position) noexcept {
  Link& oldest = *position.slot().oldest;
  remove(home, position, oldest);
  return static_cast<Record*>(&oldest);
}

template <class Record, template <class> class Atomic, class Threads>
[[gnu::noinline]] Record* MatchTable<Record, Atomic, Threads>::take_further(Bucket& home,
                                                                            Position position) noexcept {
  return take_oldest(home, position);
}

template <class Record, template <class> class Atomic, class Threads>
[[gnu::always_inline]] inline void MatchTable<Record, Atomic, Threads>::remove(Bucket& home,
                                                                               const Position& position,
                                                                               Link& link) noexcept {
  Link* const next = link.next_;
  if (next == &link) {
    position.bucket->state &= ~((kOccupied | kUnexpected) << position.number);
    if (position.bucket != &home && (position.bucket->state & kAllOccupied) == 0) [[unlikely]]
      drop(home, *position.bucket);
  } else {
    next->previous_ = link.previous_;
    link.previous_->next_ = next;
    if (position.slot().oldest == &link) position.slot().oldest = next;
  }
  link.linked_.store(0, std::memory_order_relaxed);
}

/// Frees an empty overflow bucket; it stays where it is, for the next key, when another thread holds the
/// list.
template <class Record, template <class> class Atomic, class Threads>
[[gnu::noinline]] void MatchTable<Record, Atomic, Threads>::drop(Bucket& home, Bucket& empty) noexcept {
  if (!enter(spare_lock_)) return;
  Bucket* before = &home;
  while (&spare_[before->overflow] != &empty) before = &spare_[before->overflow];
  before->overflow = empty.overflow;
  before->state = (before->state & ~kContinued) | (empty.state & kContinued);
  empty.state = 0;
  empty.overflow = spare_free_;
  spare_free_ = static_cast<std::uint32_t>(&empty - spare_);
  leave(spare_lock_);
}

}  // namespace weft::core
