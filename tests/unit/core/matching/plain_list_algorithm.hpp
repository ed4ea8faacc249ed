// The simplest matching algorithm there is, for tests of engines with one.
#pragma once

#include <weft/matching/algorithm.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace weft::test {

class PlainListAlgorithm final : public MatchingAlgorithm {
 public:
  void reserve(Item items, int) override {
    receives_.reserve(std::min<Item>(items, 4096));
    messages_.reserve(std::min<Item>(items, 4096));
  }
  Found take_receive(const MatchEnvelope& message) noexcept override {
    return take(receives_, [&](const MatchPattern& pattern) { return pattern.accepts(message); });
  }
  void add_message(Item message, const MatchEnvelope& envelope) noexcept override {
    messages_.emplace_back(message, envelope);
  }
  Found take_message(const MatchPattern& receive) noexcept override {
    return take(messages_, [&](const MatchEnvelope& message) { return receive.accepts(message); });
  }
  void add_receive(Item receive, const MatchPattern& pattern) noexcept override {
    receives_.emplace_back(receive, pattern);
  }
  Found find_message(const MatchPattern& receive) const noexcept override {
    const auto found = std::find_if(messages_.begin(), messages_.end(),
                                    [&](const auto& each) { return receive.accepts(each.second); });
    if (found == messages_.end()) return {kNone, static_cast<std::uint32_t>(messages_.size())};
    return {found->first, static_cast<std::uint32_t>(found - messages_.begin()) + 1};
  }
  void remove_receive(Item receive) noexcept override { remove(receives_, receive); }
  void remove_message(Item message) noexcept override { remove(messages_, message); }

 private:
  template <class List, class Fits>
  static Found take(List& list, const Fits& fits) noexcept {
    const auto found =
        std::find_if(list.begin(), list.end(), [&](const auto& each) { return fits(each.second); });
    if (found == list.end()) return {kNone, static_cast<std::uint32_t>(list.size())};
    const Found result{found->first, static_cast<std::uint32_t>(found - list.begin()) + 1};
    list.erase(found);
    return result;
  }
  template <class List>
  static void remove(List& list, Item item) noexcept {
    std::erase_if(list, [&](const auto& each) { return each.first == item; });
  }
  std::vector<std::pair<Item, MatchPattern>> receives_;
  std::vector<std::pair<Item, MatchEnvelope>> messages_;
};

}  // namespace weft::test
