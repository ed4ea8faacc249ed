// What each matching algorithm of the study does, and what list costs against its bounds.
#include "study/matching/algorithms/algorithms.hpp"

#include <weft/error.hpp>
#include <weft/options.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "study/matching/algorithms/bin_matching.hpp"
#include "study/matching/algorithms/packed_queue.hpp"
#include "study/matching/model/orders.hpp"

namespace weft::tools::study {
namespace {

constexpr std::uint64_t kAnyTag = ~std::uint64_t{0};
constexpr auto kNoItem = MatchingAlgorithm::kNone;

TEST(MatchingAlgorithmNames, make_what_they_name) {
  std::set<std::string_view> names;
  for (const MatchingAlgorithmInfo& info : matching_algorithms()) {
    EXPECT_NE(make_matching_algorithm(info.name), nullptr) << info.name;
    EXPECT_FALSE(info.help.empty()) << info.name;
    names.insert(info.name);
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"list", "rank-lists", "bins", "fuzzy"}));
  EXPECT_EQ(make_matching_algorithm("lists"), nullptr);
  EXPECT_EQ(make_matching_algorithm(""), nullptr);
}

class Algorithms : public ::testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override { algorithm_->reserve(64, 4); }
  MatchingAlgorithm::Item take_receive(int source, std::uint64_t tag) {
    return algorithm_->take_receive({.source = source, .tag = tag}).item;
  }
  MatchingAlgorithm::Item take_message(const MatchPattern& receive) {
    const auto found = algorithm_->find_message(receive);
    const auto taken = algorithm_->take_message(receive);
    EXPECT_EQ(found.item, taken.item);
    EXPECT_EQ(found.depth, taken.depth);
    return taken.item;
  }
  std::unique_ptr<MatchingAlgorithm> algorithm_ = make_matching_algorithm(GetParam());
};

TEST_P(Algorithms, compare_nothing_when_nothing_is_there) {
  const auto receive = algorithm_->take_receive({.source = 0, .tag = 1});
  EXPECT_EQ(receive.item, kNoItem);
  EXPECT_EQ(receive.depth, 0U);
  const auto message = algorithm_->take_message({.source = any_source, .tag = kAnyTag});
  EXPECT_EQ(message.item, kNoItem);
  EXPECT_EQ(message.depth, 0U);
}

TEST_P(Algorithms, take_the_receive_that_was_posted_first_whatever_its_wildcards) {
  algorithm_->add_receive(0, {.source = 1, .tag = 8});
  algorithm_->add_receive(1, {.source = 1, .tag = 7});
  algorithm_->add_receive(2, {.source = any_source, .tag = 7});
  algorithm_->add_receive(3, {.source = 1, .tag = kAnyTag});
  algorithm_->add_receive(4, {.source = 1, .tag = 0x17, .tag_mask = 0xF});
  algorithm_->add_receive(5, {.source = 1, .tag = 7});
  EXPECT_EQ(take_receive(2, 8), kNoItem);
  for (const MatchingAlgorithm::Item receive : {1U, 2U, 3U, 4U, 5U}) EXPECT_EQ(take_receive(1, 7), receive);
  EXPECT_EQ(take_receive(1, 7), kNoItem);
  EXPECT_EQ(take_receive(1, 8), 0U);
}

TEST_P(Algorithms, take_the_message_that_arrived_first_whatever_the_wildcards_of_the_receive) {
  algorithm_->add_message(0, {.source = 3, .tag = 9});
  algorithm_->add_message(1, {.source = 2, .tag = 7});
  algorithm_->add_message(2, {.source = 1, .tag = 7});
  algorithm_->add_message(3, {.source = 1, .tag = 0x27});
  algorithm_->add_message(4, {.source = 1, .tag = 7});
  EXPECT_EQ(take_message({.source = 0, .tag = kAnyTag}), kNoItem);
  EXPECT_EQ(take_message({.source = any_source, .tag = 7}), 1U);
  EXPECT_EQ(take_message({.source = 1, .tag = 0x20, .tag_mask = 0xF0}), 3U);
  EXPECT_EQ(take_message({.source = 1, .tag = 7}), 2U);
  EXPECT_EQ(take_message({.source = any_source, .tag = kAnyTag}), 0U);
  EXPECT_EQ(take_message({.source = 1, .tag = kAnyTag}), 4U);
  EXPECT_EQ(take_message({.source = any_source, .tag = kAnyTag}), kNoItem);
}

TEST_P(Algorithms, ignore_the_mask_of_a_receive_of_any_tag) {
  algorithm_->add_receive(0, {.source = 1, .tag = kAnyTag, .tag_mask = 0xF});
  EXPECT_EQ(take_receive(1, 0x35), 0U);
  algorithm_->add_message(0, {.source = 1, .tag = 0x35});
  EXPECT_EQ(take_message({.source = 1, .tag = kAnyTag, .tag_mask = 0xF}), 0U);
}

TEST_P(Algorithms, forget_what_was_removed) {
  algorithm_->add_receive(0, {.source = 1, .tag = 7});
  algorithm_->add_receive(1, {.source = any_source, .tag = 7});
  algorithm_->add_receive(2, {.source = 1, .tag = 7});
  algorithm_->remove_receive(1);
  algorithm_->remove_receive(0);
  EXPECT_EQ(take_receive(1, 7), 2U);
  EXPECT_EQ(take_receive(1, 7), kNoItem);
  algorithm_->add_message(0, {.source = 1, .tag = 7});
  algorithm_->add_message(1, {.source = 1, .tag = 7});
  algorithm_->remove_message(0);
  EXPECT_EQ(take_message({.source = 1, .tag = 7}), 1U);
  EXPECT_EQ(take_message({.source = any_source, .tag = kAnyTag}), kNoItem);
}

INSTANTIATE_TEST_SUITE_P(Each, Algorithms, ::testing::Values("list", "rank-lists", "bins", "fuzzy"),
                         [](const auto& each) {
                           std::string name(each.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

/// The sum of search depths when an exchange's receives are posted before its messages arrive; or, when
/// is_unexpected, its messages arrive in the order `first`, before receives are posted in the order `second`.
std::uint64_t sum_of_depths(std::string_view name, const MessageOrder& first, const MessageOrder& second,
                            bool is_unexpected) {
  const std::unique_ptr<MatchingAlgorithm> algorithm = make_matching_algorithm(name);
  algorithm->reserve(static_cast<MatchingAlgorithm::Item>(first.size()), 1);
  for (const std::uint32_t message : first) {
    if (is_unexpected)
      algorithm->add_message(message, {.source = 0, .tag = message});
    else
      algorithm->add_receive(message, {.source = 0, .tag = message});
  }
  std::uint64_t sum = 0;
  for (const std::uint32_t message : second) {
    const auto found = is_unexpected ? algorithm->take_message({.source = 0, .tag = message})
                                     : algorithm->take_receive({.source = 0, .tag = message});
    EXPECT_EQ(found.item, message);
    sum += found.depth;
  }
  return sum;
}

class ListDepth : public ::testing::TestWithParam<bool> {
 protected:
  MessageOrder arrivals(ArrivalOrder order, std::uint64_t seed = 0) const {
    return arrival_order(exchange_, posted_, order, seed);
  }
  HaloExchange exchange_ = enumerate_halo(parse_decomposition("27pt:8x8x4"));
  MessageOrder posted_ = posted_in_turns(exchange_);
  std::uint64_t messages_ = exchange_.counts.messages;
};

TEST_P(ListDepth, is_one_in_order) {
  for (const char* name : {"list", "rank-lists"})
    EXPECT_EQ(sum_of_depths(name, posted_, arrivals(ArrivalOrder::in_order), GetParam()), messages_);
}

TEST_P(ListDepth, is_half_of_the_messages_and_one_when_reversed) {
  for (const char* name : {"list", "rank-lists"})
    EXPECT_EQ(sum_of_depths(name, posted_, arrivals(ArrivalOrder::reversed), GetParam()),
              messages_ * (messages_ + 1) / 2);
}

TEST_P(ListDepth, is_a_quarter_of_the_messages_when_random) {
  constexpr std::uint64_t kDraws = 10;
  std::uint64_t sum = 0;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed)
    sum += sum_of_depths("list", posted_, arrivals(ArrivalOrder::random, seed), GetParam());
  const double bound = (static_cast<double>(messages_) + 3) / 4;
  EXPECT_NEAR(static_cast<double>(sum) / static_cast<double>(messages_ * kDraws), bound, 0.03 * bound);
}

TEST_P(ListDepth, is_little_for_bins_and_a_few_vectors_for_fuzzy) {
  const double messages = static_cast<double>(messages_);
  const MessageOrder random = arrivals(ArrivalOrder::random, 1);
  // A bin has an eighth of 64 messages on average; a vector has eight, and a digest stands for nine messages.
  EXPECT_LT(static_cast<double>(sum_of_depths("bins", posted_, random, GetParam())), 6 * messages);
  EXPECT_LT(static_cast<double>(sum_of_depths("fuzzy", posted_, random, GetParam())),
            messages * (messages / 4 / PackedQueue::kLanes * 1.5 + 8));
}

INSTANTIATE_TEST_SUITE_P(Of, ListDepth, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "unexpected" : "posted"; });

TEST(InterleavedDepth, is_at_most_that_of_random_arrivals_for_the_rows_of_the_paper) {
  for (const PaperRow& row : paper_rows()) {
    const HaloExchange exchange = enumerate_halo(parse_decomposition(row.decomposition));
    const MessageOrder posted = posted_in_turns(exchange);
    const double messages = static_cast<double>(exchange.counts.messages);
    double mean = 0;
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
      const MessageOrder arrivals = arrival_order(exchange, posted, ArrivalOrder::interleaved, seed);
      mean += static_cast<double>(sum_of_depths("list", posted, arrivals, false)) / messages / 4;
    }
    EXPECT_LT(mean, 1.1 * (messages + 3) / 4) << row.decomposition;
    EXPECT_GT(mean, 0.5 * (messages + 3) / 4) << row.decomposition;
  }
}

TEST(BinMatchingBins, are_as_many_as_was_said_and_at_least_one) {
  BinMatching one(1);
  one.reserve(8, 1);
  for (MatchingAlgorithm::Item item = 0; item < 8; ++item) one.add_receive(item, {.source = 0, .tag = item});
  EXPECT_EQ(one.take_receive({.source = 0, .tag = 7}).depth, 8U);
  EXPECT_NO_THROW(BinMatching(300));
  EXPECT_THROW(BinMatching(0), Error);
  EXPECT_THROW(BinMatching(BinMatching::kMostBins + 1), Error);
}

TEST(MatchDigests, agree_wherever_a_pattern_accepts_a_message) {
  const int sources[] = {0, 1, 5, 127, 128, 255, 4'097, 1 << 20};
  const std::uint64_t tags[] = {0, 1, 0xFF, 0x0101, 0xABCD, 0x1'0000'0001, 0xFEDC'BA98'7654'3210};
  const std::uint64_t masks[] = {kAnyTag, 0, 0xF, 0x0101'0101'0101'0101, 0xFFFF'0000'FFFF'0000, 1};
  int accepted = 0;
  for (const int source : sources)
    for (const std::uint64_t tag : tags)
      for (const int pattern_source : {any_source, 1, source})
        for (const std::uint64_t mask : masks)
          for (const std::uint64_t pattern_tag : {kAnyTag, tag, tag ^ ~mask}) {
            const MatchPattern pattern{.source = pattern_source, .tag = pattern_tag, .tag_mask = mask};
            const MatchEnvelope message{.source = source, .tag = tag};
            if (!pattern.accepts(message)) continue;
            ++accepted;
            const MatchDigest one = digest_of(pattern);
            const MatchDigest other = digest_of(message);
            EXPECT_EQ((one.value ^ other.value) & one.mask & other.mask, 0) << source << ' ' << tag;
          }
  EXPECT_GT(accepted, 500);
}

TEST(MatchDigests, differ_for_other_sources_and_tags_nearby) {
  const auto fits = [](const MatchPattern& pattern, const MatchEnvelope& message) {
    const MatchDigest one = digest_of(pattern);
    const MatchDigest other = digest_of(message);
    return ((one.value ^ other.value) & one.mask & other.mask) == 0;
  };
  for (std::uint64_t tag = 1; tag < 256; ++tag)
    EXPECT_FALSE(fits({.source = 0, .tag = tag}, {.source = 0, .tag = 0}));
  for (int source = 1; source < 128; ++source)
    EXPECT_FALSE(fits({.source = source, .tag = kAnyTag}, {.source = 0, .tag = 5}));
  EXPECT_FALSE(fits({.source = 0, .tag = 1, .tag_mask = 0x0101'0101'0101'0101}, {.source = 0, .tag = 0}));
}

TEST(PackedQueues, keep_their_order_over_holes_and_compaction) {
  constexpr MatchingAlgorithm::Item kItems = 100;
  PackedQueue queue;
  queue.reserve(kItems);
  const MatchDigest digest = digest_of(MatchEnvelope{.source = 1, .tag = 2});
  const auto any = [](MatchingAlgorithm::Item) { return true; };
  const auto fill = [&] {
    for (MatchingAlgorithm::Item item = 0; item < kItems; ++item) queue.append(item, digest);
  };
  fill();
  // What is left is a seventh, in the order of appending; the rest is gone from the vectors as well.
  for (MatchingAlgorithm::Item item = 0; item < kItems; ++item)
    if (item % 7 != 3) queue.remove(item);
  EXPECT_LE(queue.find(digest, [](auto) { return false; }).depth, 14U + 2 * 14 / PackedQueue::kLanes + 3);
  for (MatchingAlgorithm::Item item = 3; item < kItems; item += 7) {
    EXPECT_EQ(queue.find(digest, any).item, item);
    queue.remove(item);
  }
  EXPECT_EQ(queue.find(digest, any).depth, 0U);
  // Many more than there is room for, one after another, while the queue is full.
  fill();
  for (std::uint32_t turn = 0; turn < 50 * kItems; ++turn) {
    ASSERT_EQ(queue.find(digest, any).item, turn % kItems);
    queue.remove(turn % kItems);
    queue.append(turn % kItems, digest);
  }
}

}  // namespace
}  // namespace weft::tools::study
