// Lists of items whose links lie in an array of the algorithm.
#pragma once

#include <weft/matching/algorithm.hpp>

#include <vector>

namespace weft::tools::study {

using MatchItem = MatchingAlgorithm::Item;
inline constexpr MatchItem kNoItem = MatchingAlgorithm::kNone;

/// The neighbours of an item in a list.
struct ItemLinks {
  MatchItem previous = kNoItem;
  MatchItem next = kNoItem;
};

/// A list in the order of appending. Nothing is allocated, and any item can be removed in constant time: what
/// an algorithm keeps of an item is its Entry in an array that is indexed by item, and kLinks names the
/// member of the entry which holds the links. An item that is in several lists has several of these.
template <class Entry, ItemLinks Entry::*kLinks = &Entry::links>
class ItemList {
 public:
  using Entries = std::vector<Entry>;

  [[nodiscard]] MatchItem first() const noexcept { return first_; }
  [[nodiscard]] static MatchItem next(const Entries& entries, MatchItem item) noexcept {
    return (entries[item].*kLinks).next;
  }

  void append(Entries& entries, MatchItem item) noexcept {
    entries[item].*kLinks = {.previous = last_, .next = kNoItem};
    (last_ == kNoItem ? first_ : (entries[last_].*kLinks).next) = item;
    last_ = item;
  }

  void remove(Entries& entries, MatchItem item) noexcept {
    const ItemLinks links = entries[item].*kLinks;
    (links.previous == kNoItem ? first_ : (entries[links.previous].*kLinks).next) = links.next;
    (links.next == kNoItem ? last_ : (entries[links.next].*kLinks).previous) = links.previous;
  }

  /// The first item whose entry is accepted. Depth counts the entries that were looked at.
  template <class Accepts>
  [[nodiscard]] MatchingAlgorithm::Found find(const Entries& entries, const Accepts& accepts) const {
    MatchingAlgorithm::Found found;
    for (MatchItem item = first_; item != kNoItem; item = next(entries, item)) {
      ++found.depth;
      if (accepts(entries[item])) {
        found.item = item;
        break;
      }
    }
    return found;
  }

 private:
  MatchItem first_ = kNoItem;
  MatchItem last_ = kNoItem;
};

}  // namespace weft::tools::study
