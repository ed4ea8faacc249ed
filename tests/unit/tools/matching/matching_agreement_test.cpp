// All matching algorithms of the study make the same matches, whatever happens in whatever order.
#include <weft/options.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "study/matching/algorithms/algorithms.hpp"

namespace weft::tools::study {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kSeeds = 1'000;
#else
constexpr std::uint64_t kSeeds = 10'000;
#endif

using Item = MatchingAlgorithm::Item;
constexpr Item kNone = MatchingAlgorithm::kNone;

/// The semantics in a few lines: what waits, in the order in which it came.
template <class Entry>
class Waiting {
 public:
  void add(Item item, const Entry& entry) { entries_.push_back({item, entry}); }
  template <class Accepts>
  [[nodiscard]] Item first(const Accepts& accepts) const {
    const auto found = std::ranges::find_if(entries_, [&](const auto& each) { return accepts(each.second); });
    return found == entries_.end() ? kNone : found->first;
  }
  void remove(Item item) {
    std::erase_if(entries_, [&](const auto& each) { return each.first == item; });
  }
  [[nodiscard]] const std::vector<std::pair<Item, Entry>>& entries() const { return entries_; }

 private:
  std::vector<std::pair<Item, Entry>> entries_;
};

/// How much of what happens in a sequence.
struct Mixture {
  Item items;
  int sources;
  std::uint32_t tags;
  std::uint32_t wildcards;  ///< one receive in so many has one of each kind; 0: none
  std::uint32_t arrivals;   ///< messages to 4 receives
};

/// One sequence of posts, arrivals, cancels and probes, as an engine makes them, on all algorithms at once.
class Sequence {
 public:
  Sequence(std::uint64_t seed, const Mixture& mixture) : random_(seed), mixture_(mixture) {
    for (const MatchingAlgorithmInfo& info : matching_algorithms()) {
      names_.push_back(info.name);
      algorithms_.push_back(make_matching_algorithm(info.name));
      algorithms_.back()->reserve(mixture.items, mixture.sources);
    }
    for (Item item = 0; item < mixture.items; ++item) free_.push_back(item);
    tag_kind_ = below(4);
  }

  /// False when an algorithm does not do what the semantics are; it has been reported.
  bool step() {
    const std::uint32_t kind = below(9 + mixture_.arrivals);
    if (kind < 4) return post();
    if (kind == 4) return cancel();
    if (kind == 5) return probe(false);
    if (kind == 6) return probe(true);
    if (kind == 7 && below(4) == 0) return drop_message();
    return arrive();
  }
  [[nodiscard]] std::size_t matches() const { return matches_; }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  bool with_wildcard() { return mixture_.wildcards > 0 && below(mixture_.wildcards) == 0; }

  std::uint64_t tag() {
    const std::uint64_t number = below(mixture_.tags);
    switch (tag_kind_) {
      case 0:
        return number;
      case 1:
        return number << 40 | 5;
      case 2:
        return number * 0x0101;  // pairs of bytes that cancel each other out in digests
      default:
        return (number * 0x9E3779B97F4A7C15) >> 1;
    }
  }
  int source() { return static_cast<int>(below(static_cast<std::uint32_t>(mixture_.sources))); }

  MatchPattern pattern() {
    MatchPattern pattern{.source = source(), .tag = tag()};
    if (with_wildcard()) pattern.source = any_source;
    if (with_wildcard()) pattern.tag = ~std::uint64_t{0};
    if (with_wildcard()) {
      const std::uint64_t masks[] = {0, 1, 0xF, ~std::uint64_t{0xF}, std::uint64_t{0xFF} << 40, random_()};
      pattern.tag_mask = masks[below(6)];
    }
    return pattern;
  }

  template <class Call>
  bool expect(Item expected, const char* what, const Call& call) {
    for (std::size_t index = 0; index < algorithms_.size(); ++index) {
      const MatchingAlgorithm::Found found = call(*algorithms_[index]);
      if (found.item == expected && (found.item == kNone || found.depth > 0)) continue;
      ADD_FAILURE() << names_[index] << ' ' << what << ": item " << found.item << " at depth " << found.depth
                    << ", but " << expected << " is right";
      return false;
    }
    if (expected != kNone) ++matches_;
    return true;
  }

  [[nodiscard]] Item first_message(const MatchPattern& receive) const {
    return messages_.first([&](const MatchEnvelope& message) { return receive.accepts(message); });
  }
  Item new_item() {
    const std::size_t index = below(static_cast<std::uint32_t>(free_.size()));
    const Item item = free_[index];
    free_[index] = free_.back();
    free_.pop_back();
    return item;
  }

  bool post() {
    const MatchPattern receive = pattern();
    const Item expected = first_message(receive);
    if (!expect(expected, "take_message", [&](auto& each) { return each.take_message(receive); }))
      return false;
    if (expected != kNone) {
      messages_.remove(expected);
      free_.push_back(expected);
    } else if (!free_.empty()) {
      const Item item = new_item();
      for (const auto& each : algorithms_) each->add_receive(item, receive);
      receives_.add(item, receive);
    }
    return true;
  }

  bool arrive() {
    const MatchEnvelope message{.source = source(), .tag = tag()};
    const Item expected =
        receives_.first([&](const MatchPattern& receive) { return receive.accepts(message); });
    if (!expect(expected, "take_receive", [&](auto& each) { return each.take_receive(message); }))
      return false;
    if (expected != kNone) {
      receives_.remove(expected);
      free_.push_back(expected);
    } else if (!free_.empty()) {
      const Item item = new_item();
      for (const auto& each : algorithms_) each->add_message(item, message);
      messages_.add(item, message);
    }
    return true;
  }

  bool cancel() {
    const auto& entries = receives_.entries();
    if (entries.empty()) return true;
    const Item item = entries[below(static_cast<std::uint32_t>(entries.size()))].first;
    for (const auto& each : algorithms_) each->remove_receive(item);
    receives_.remove(item);
    free_.push_back(item);
    return true;
  }

  void remove_message(Item item) {
    for (const auto& each : algorithms_) each->remove_message(item);
    messages_.remove(item);
    free_.push_back(item);
  }

  bool probe(bool is_matched) {
    const MatchPattern receive = pattern();
    const Item expected = first_message(receive);
    if (!expect(expected, "find_message", [&](auto& each) { return each.find_message(receive); }))
      return false;
    if (is_matched && expected != kNone) remove_message(expected);
    return true;
  }

  bool drop_message() {
    const auto& entries = messages_.entries();
    if (entries.empty()) return true;
    remove_message(entries[below(static_cast<std::uint32_t>(entries.size()))].first);
    return true;
  }

  std::mt19937_64 random_;
  Mixture mixture_;
  std::vector<std::string_view> names_;
  std::vector<std::unique_ptr<MatchingAlgorithm>> algorithms_;
  Waiting<MatchPattern> receives_;
  Waiting<MatchEnvelope> messages_;
  std::vector<Item> free_;
  std::uint32_t tag_kind_ = 0;
  std::size_t matches_ = 0;
};

TEST(MatchingAlgorithms, agree_over_short_sequences) {
  constexpr Mixture kMixtures[] = {{.items = 24, .sources = 1, .tags = 3, .wildcards = 6, .arrivals = 4},
                                   {.items = 40, .sources = 3, .tags = 2, .wildcards = 3, .arrivals = 4},
                                   {.items = 60, .sources = 200, .tags = 2, .wildcards = 2, .arrivals = 4},
                                   {.items = 60, .sources = 2, .tags = 400, .wildcards = 4, .arrivals = 3},
                                   {.items = 60, .sources = 5, .tags = 8, .wildcards = 0, .arrivals = 4},
                                   {.items = 60, .sources = 4, .tags = 6, .wildcards = 12, .arrivals = 12},
                                   {.items = 8, .sources = 2, .tags = 4, .wildcards = 5, .arrivals = 1}};
  std::size_t matches = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Sequence sequence(seed, kMixtures[seed % std::size(kMixtures)]);
    for (int step = 0; step < 120; ++step)
      if (!sequence.step()) FAIL() << "seed " << seed << ", step " << step;
    matches += sequence.matches();
  }
  EXPECT_GT(matches, 20 * kSeeds);
}

TEST(MatchingAlgorithms, agree_over_long_sequences) {
  for (std::uint64_t seed = 0; seed < kSeeds / 1'000; ++seed) {
    // Few matches, so that lists get long, and holes many.
    Sequence sequence(seed, {.items = 600, .sources = 6, .tags = 300, .wildcards = 60, .arrivals = 4});
    for (int step = 0; step < 10'000; ++step)
      if (!sequence.step()) FAIL() << "seed " << seed << ", step " << step;
    EXPECT_GT(sequence.matches(), 1'000U);
  }
}

}  // namespace
}  // namespace weft::tools::study
