// Included by match_table.hpp: its slow paths, which wait for threads in a bucket.
#pragma once

#include "core/matching/table/match_table.hpp"

namespace weft::core {

template <class Record, template <class> class Atomic, class Threads>
auto MatchTable<Record, Atomic, Threads>::enter_waiting(Atomic<std::uint32_t>& lock) noexcept -> Hold {
  for (concurrent::Backoff backoff;; backoff.wait())
    if (const Hold hold = detail::enter(bias_, lock, serial_); hold != nullptr) return hold;
}

template <class Record, template <class> class Atomic, class Threads>
template <class Make>
auto MatchTable<Record, Atomic, Threads>::pair(Side side, const MatchKey& key, Make&& make,
                                               std::uint32_t& depth) noexcept -> Result {
  Bucket& home = home_of(key);
  const Hold hold = detail::enter(bias_, home.lock, serial_);
  if (hold == nullptr) return {Answer::contended, nullptr};
  depth += compared(home, key);
  const Result result = pair_in(home, side, key, make);
  detail::leave(hold, serial_);
  return result;
}

template <class Record, template <class> class Atomic, class Threads>
std::uint32_t MatchTable<Record, Atomic, Threads>::compared(const Bucket& home,
                                                            const MatchKey& key) const noexcept {
  std::uint32_t count = 0;
  for (const Bucket* bucket = &home;; bucket = &spare_[bucket->overflow]) {
    for (std::uint32_t number = 0; number < kSlots; ++number) {
      if ((bucket->state >> number & kOccupied) == 0) continue;
      ++count;
      const Slot& slot = bucket->slots[number];
      if (slot.tag == key.tag && slot.oldest->origin_.load(std::memory_order_relaxed) == key.origin())
        return count;
    }
    if ((bucket->state & kContinued) == 0) return count;
  }
}

template <class Record, template <class> class Atomic, class Threads>
template <class Still>
bool MatchTable<Record, Atomic, Threads>::unlink(Record& record, Still&& still) noexcept {
  Link& link = record;
  for (;;) {
    const MatchKey key = link.key();  // a guess, until it is compared under the lock
    Bucket& home = home_of(key);
    const Hold hold = enter_waiting(home.lock);
    // Pairs with the release in link(): a thread that sees a later use sees its key and its generation.
    const bool linked = link.linked_.load(std::memory_order_acquire) != 0;
    const bool here = linked && link.key() == key;
    const bool taken = here && still();
    if (taken) remove(home, find(home, key), link);
    detail::leave(hold, serial_);
    if (here || !linked) return taken;
  }
}

template <class Record, template <class> class Atomic, class Threads>
Record* MatchTable<Record, Atomic, Threads>::take(Side side, const MatchKey& key) noexcept {
  Bucket& home = home_of(key);
  const Hold hold = enter_waiting(home.lock);
  const Position position = find(home, key);
  Record* record = nullptr;
  if (position.bucket != nullptr && position.side() == side) record = take_oldest(home, position);
  detail::leave(hold, serial_);
  return record;
}

template <class Record, template <class> class Atomic, class Threads>
template <class Visit>
bool MatchTable<Record, Atomic, Threads>::visit_oldest(Side side, const MatchKey& key,
                                                       Visit&& visit) noexcept {
  Bucket& home = home_of(key);
  const Hold hold = enter_waiting(home.lock);
  const Position position = find(home, key);
  const bool found = position.bucket != nullptr && position.side() == side;
  if (found) visit(*static_cast<Record*>(position.slot().oldest));
  detail::leave(hold, serial_);
  return found;
}

template <class Record, template <class> class Atomic, class Threads>
Record* MatchTable<Record, Atomic, Threads>::find_oldest(Side side, const MatchKey& key) noexcept {
  Bucket& home = home_of(key);
  if (home.state == 0) [[likely]]
    return nullptr;
  const Position position = find(home, key);
  return position.bucket != nullptr && position.side() == side ? static_cast<Record*>(position.slot().oldest)
                                                               : nullptr;
}

template <class Record, template <class> class Atomic, class Threads>
template <class Visit>
void MatchTable<Record, Atomic, Threads>::for_each(Visit&& visit) noexcept {
  for (std::size_t index = 0; index < buckets(); ++index) {
    Bucket& home = home_[index];
    if (!home.may_be_used()) continue;
    const Hold hold = enter_waiting(home.lock);
    for (Bucket* bucket = &home;; bucket = &spare_[bucket->overflow]) {
      for (std::uint32_t number = 0; number < kSlots; ++number) {
        const Position position{bucket, number};
        if (!position.occupied()) continue;
        const Link* const oldest = position.slot().oldest;
        const Link* link = oldest;
        do {
          visit(*static_cast<const Record*>(link), position.side());
          link = link->next_;
        } while (link != oldest);
      }
      if ((bucket->state & kContinued) == 0) break;
    }
    detail::leave(hold, serial_);
  }
}

template <class Record, template <class> class Atomic, class Threads>
template <class Each>
void MatchTable<Record, Atomic, Threads>::clear(Each&& each) noexcept {
  for (std::size_t index = 0; index < buckets(); ++index) {
    Bucket& home = home_[index];
    for (Bucket* bucket = &home;; bucket = &spare_[bucket->overflow]) {
      for (std::uint32_t number = 0; number < kSlots; ++number) {
        const Position position{bucket, number};
        while (position.occupied()) {
          const Side side = position.side();
          Link& oldest = *position.slot().oldest;
          remove(*bucket, position, oldest);  // as its own home: the chain stays whole during the walk
          each(*static_cast<Record*>(&oldest), side);
        }
      }
      if ((bucket->state & kContinued) == 0) break;
    }
    while ((home.state & kContinued) != 0) drop(home, spare_[home.overflow]);
  }
}

}  // namespace weft::core
