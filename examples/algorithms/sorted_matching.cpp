// A matching algorithm of a program's own, as a library for `weft study matching --algorithm`:
//
//     weft study matching --algorithm lib/sorted_matching.so --engines list --decompositions 27pt:4x4x4
//
// Receives that name their source and tag are kept by both in a map, those with wildcards in a list, and so
// are messages; whichever fitting one came first is taken. A search compares at most one entry of the map and
// the wildcards. (A map allocates, and an algorithm for more than a study keeps its nodes in arrays instead.)
#include <weft/matching/plugin.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace {

using Key = std::pair<int, std::uint64_t>;

class SortedMatching final : public weft::MatchingAlgorithm {
 public:
  void reserve(Item items, int /*ranks*/) override {
    receives_.resize(items);
    messages_.resize(items);
  }

  Found take_receive(const weft::MatchEnvelope& message) noexcept override {
    Found found;
    std::uint64_t first = UINT64_MAX;
    if (const auto row = exact_.find({message.source, message.tag}); row != exact_.end()) {
      ++found.depth;
      found.item = row->second.front();
      first = receives_[found.item].number;
    }
    for (const Item item : wild_) {
      if (receives_[item].number > first) break;  // in their order
      ++found.depth;
      if (!receives_[item].pattern.accepts(message)) continue;
      found.item = item;
      break;
    }
    if (found.item != kNone) remove_receive(found.item);
    return found;
  }
  void add_receive(Item receive, const weft::MatchPattern& pattern) noexcept override {
    receives_[receive] = {pattern, ++last_};
    (pattern.has_wildcard() ? wild_ : exact_[{pattern.source, pattern.tag}]).push_back(receive);
  }
  void remove_receive(Item receive) noexcept override {
    const weft::MatchPattern& pattern = receives_[receive].pattern;
    if (pattern.has_wildcard())
      std::erase(wild_, receive);
    else
      remove(exact_, {pattern.source, pattern.tag}, receive);
  }

  void add_message(Item message, const weft::MatchEnvelope& envelope) noexcept override {
    messages_[message] = envelope;
    waiting_[{envelope.source, envelope.tag}].push_back(message);
    in_order_.push_back(message);
  }
  Found find_message(const weft::MatchPattern& receive) const noexcept override {
    Found found;
    if (!receive.has_wildcard()) {
      const auto row = waiting_.find({receive.source, receive.tag});
      if (row != waiting_.end()) found = {row->second.front(), 1};
      return found;
    }
    for (const Item item : in_order_) {
      ++found.depth;
      if (!receive.accepts(messages_[item])) continue;
      found.item = item;
      break;
    }
    return found;
  }
  Found take_message(const weft::MatchPattern& receive) noexcept override {
    const Found found = find_message(receive);
    if (found.item != kNone) remove_message(found.item);
    return found;
  }
  void remove_message(Item message) noexcept override {
    remove(waiting_, {messages_[message].source, messages_[message].tag}, message);
    std::erase(in_order_, message);
  }

 private:
  struct Receive {
    weft::MatchPattern pattern;
    std::uint64_t number = 0;  // in the order of posts
  };
  using Rows = std::map<Key, std::deque<Item>>;

  static void remove(Rows& rows, const Key& key, Item item) {
    const auto row = rows.find(key);
    std::erase(row->second, item);
    if (row->second.empty()) rows.erase(row);
  }

  std::vector<Receive> receives_;
  std::vector<weft::MatchEnvelope> messages_;
  Rows exact_;
  std::deque<Item> wild_;
  Rows waiting_;
  std::deque<Item> in_order_;
  std::uint64_t last_ = 0;
};

}  // namespace

WEFT_MATCHING_ALGORITHM(SortedMatching);
