// Tags of follow-up messages: none is used again before the messages that had it have been received.
#include "study/parcelports/connections/tag_book.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace weft::parcel::ports {
namespace {

TEST(TagBook, NeverGivesATagTwiceWhileItIsUnderWay) {
  // A sender and a receiver that finishes in any order and tells now and then.
  constexpr std::uint64_t kTags = 16;
  TagBook sender(2, TagPolicy::window, kTags);
  TagBook receiver(2, TagPolicy::window, kTags);
  std::mt19937 random(1);
  std::vector<std::uint64_t> under_way;
  std::set<std::uint64_t> tags;
  std::uint64_t given = 0;
  std::uint64_t refused = 0;
  for (int round = 0; round < 100'000; ++round) {
    if (random() % 2 == 0) {
      if (const auto number = sender.take(1, 1)) {
        ++given;
        ASSERT_TRUE(tags.insert(sender.tag_of(*number, 0)).second) << "tag " << sender.tag_of(*number, 0);
        ASSERT_EQ(sender.tag_of(*number, 0), receiver.tag_of(*number, 5)) << "one tag for all of a message";
        under_way.push_back(*number);
      } else {
        ++refused;
      }
    } else if (!under_way.empty()) {
      const std::size_t place = random() % under_way.size();
      const std::uint64_t number = under_way[place];
      under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(place));
      ASSERT_TRUE(receiver.begin(0, number));
      ASSERT_FALSE(receiver.begin(0, number)) << "twice";
      receiver.finish(0, number);
      ASSERT_EQ(tags.erase(sender.tag_of(number, 0)), 1U);
      if (const auto updates = receiver.updates_for(0)) sender.peer_has_finished(1, *updates);
    }
  }
  EXPECT_GT(given, 10'000U);
  EXPECT_GT(refused, 0U);
  // All that is under way ends, and then there are numbers again.
  for (const std::uint64_t number : under_way) {
    ASSERT_TRUE(receiver.begin(0, number));
    receiver.finish(0, number);
    if (const auto updates = receiver.updates_for(0)) sender.peer_has_finished(1, *updates);
  }
  EXPECT_TRUE(sender.take(1, 1).has_value());
}

TEST(TagBook, RefusesNumbersThatNobodyHasTaken) {
  TagBook book(2, TagPolicy::window, 8);
  EXPECT_FALSE(book.begin(1, 8)) << "beyond the window";
  EXPECT_FALSE(book.begin(1, ~std::uint64_t{0}));
  ASSERT_TRUE(book.begin(1, 0));
  book.finish(1, 0);
  EXPECT_FALSE(book.begin(1, 0)) << "finished already";
  EXPECT_FALSE(TagBook(2, TagPolicy::provider, 3).begin(1, 4)) << "no such tag";
  ASSERT_TRUE(book.take(1, 1).has_value());
  book.peer_has_finished(1, 1'000'000);  // no peer can say so
  for (int number = 1; number < 8; ++number) EXPECT_TRUE(book.take(1, 1).has_value());
  EXPECT_FALSE(book.take(1, 1).has_value());
}

TEST(TagBook, TakesTagsOfAProviderBackOnce) {
  TagBook book(2, TagPolicy::provider, 3);
  std::set<std::uint64_t> tags;
  for (int count = 0; count < 3; ++count) tags.insert(book.take(1, 9).value());
  EXPECT_EQ(tags, (std::set<std::uint64_t>{1, 2, 3}));
  EXPECT_FALSE(book.take(1, 0).has_value());
  EXPECT_TRUE(book.release(2));
  EXPECT_FALSE(book.release(2));
  EXPECT_FALSE(book.release(0));
  EXPECT_FALSE(book.release(4));
  EXPECT_EQ(book.take(1, 0), 2U);
  EXPECT_TRUE(book.give_back(2, 9)) << "a header that was pushed back";
  EXPECT_EQ(book.take(1, 0), 2U);
}

TEST(TagBook, GivesBackNoNumberThatTheReceiverWouldMiss) {
  TagBook window(2, TagPolicy::window, 8);
  EXPECT_FALSE(window.give_back(window.take(1, 1).value(), 1));
  EXPECT_TRUE(window.give_back(window.take(1, 0).value(), 0)) << "without follow-up messages it has none";
}

TEST(TagBook, NumbersEveryFollowUpMessageWhereTagsAreEndless) {
  TagBook book(2, TagPolicy::endless, 0);
  EXPECT_EQ(book.take(1, 3), 0U);
  EXPECT_EQ(book.take(1, 1), 3U);
  EXPECT_EQ(book.tag_of(3, 2), 5U);
}

}  // namespace
}  // namespace weft::parcel::ports
