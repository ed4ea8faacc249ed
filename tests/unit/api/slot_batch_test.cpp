#include <weft/detail/slot_batch.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace weft::detail {
namespace {

constexpr std::uint8_t kChannel = 7;

class SlotBatchTest : public testing::Test {
 protected:
  void write(std::uint64_t position, std::size_t size, std::uint8_t channel = kChannel,
             SlotKind kind = SlotKind::message) {
    Slot& slot = slots_[position & 7];
    slot.word = position * 10;
    slot.header.store(slot_header(lap_of(position, 7), size, channel, kind));
  }
  SlotBatch batch(std::uint64_t head, std::size_t limit = 100) {
    return {slots_.data(), 7, head, 0, limit, 3, kChannel};
  }
  /// Takes all that the run shows; how many.
  static std::size_t take_all(SlotBatch& batch) {
    std::size_t count = 0;
    std::uint64_t word = 0;
    Bytes payload;
    for (; batch.look(word, payload); batch.advance()) {
      EXPECT_EQ(word, batch.head() * 10);
      ++count;
    }
    return count;
  }

  std::array<Slot, 8> slots_{};
};

TEST_F(SlotBatchTest, shows_messages_in_order_and_frees_their_slots) {
  for (std::uint64_t position = 10; position < 15; ++position) write(position, position);
  SlotBatch all = batch(10);
  std::uint64_t word = 0;
  Bytes payload;
  ASSERT_TRUE(all.look(word, payload));
  EXPECT_EQ(payload.size(), 10U);
  EXPECT_EQ(all.size(), 10U);
  EXPECT_EQ(payload.data(), slots_[2].payload);
  EXPECT_EQ(all.peer(), 3);
  EXPECT_EQ(take_all(all), 5U);
  EXPECT_EQ(all.head(), 15U);
  for (const Slot& slot : slots_) EXPECT_EQ(slot.header.load(), 0U);
}

TEST_F(SlotBatchTest, ends_where_the_ring_ends) {
  for (std::uint64_t position = 6; position < 11; ++position) write(position, 8);
  SlotBatch all = batch(6);
  EXPECT_EQ(take_all(all), 2U);
  EXPECT_EQ(all.head(), 8U);
  SlotBatch rest = batch(all.head());
  EXPECT_EQ(take_all(rest), 3U);
}

TEST_F(SlotBatchTest, shows_only_what_is_as_large_as_the_one_before_when_asked_for_that) {
  write(0, 8);
  write(1, 8);
  write(2, 9);
  SlotBatch all = batch(0);
  std::uint64_t word = 0;
  Bytes payload;
  const std::byte* alike = nullptr;
  EXPECT_FALSE(all.peek_alike(word, alike));
  ASSERT_TRUE(all.look(word, payload));
  all.advance();
  ASSERT_TRUE(all.peek_alike(word, alike));
  EXPECT_EQ(word, 10U);
  EXPECT_EQ(alike, slots_[1].payload);
  all.advance();
  EXPECT_FALSE(all.peek_alike(word, alike));
  EXPECT_EQ(take_all(all), 1U);
}

TEST_F(SlotBatchTest, goes_on_behind_a_part_of_it) {
  for (std::uint64_t position = 0; position < 5; ++position) write(position, 8);
  SlotBatch all = batch(0);
  for (const std::size_t most : {2U, 2U, 2U}) {
    SlotBatch part = all.first(most);
    take_all(part);
    all.resume_behind(part);
  }
  EXPECT_EQ(all.head(), 5U);
  EXPECT_EQ(all.first(100).head(), 5U);
}

TEST_F(SlotBatchTest, keeps_what_was_looked_at_but_not_taken) {
  write(0, 8);
  SlotBatch all = batch(0);
  std::uint64_t word = 0;
  Bytes payload;
  EXPECT_TRUE(all.look(word, payload));
  EXPECT_TRUE(all.look(word, payload));
  EXPECT_NE(slots_[0].header.load(), 0U);
}

TEST_F(SlotBatchTest, ends_at_its_limit) {
  for (std::uint64_t position = 0; position < 5; ++position) write(position, 8);
  SlotBatch some = batch(0, 3);
  EXPECT_EQ(take_all(some), 3U);
  EXPECT_NE(slots_[3].header.load(), 0U);
}

TEST_F(SlotBatchTest, ends_before_another_channel_kind_lap_or_a_payload_of_several_slots) {
  for (int what = 0; what < 4; ++what) {
    SCOPED_TRACE(what);
    write(0, 8);
    write(1, what == 0 ? detail::kSlotPayload + 1 : detail::kSlotPayload, what == 1 ? 1 : kChannel,
          what == 2 ? SlotKind::packet : SlotKind::message);
    if (what == 3) slots_[1].header.store(slot_header(8, 8, kChannel, SlotKind::message));
    SlotBatch all = batch(0);
    EXPECT_EQ(take_all(all), 1U);
    EXPECT_NE(slots_[1].header.load(), 0U);
  }
}

TEST_F(SlotBatchTest, looks_ahead_of_its_head) {
  write(0, 8);
  write(1, 16);
  const SlotBatch all = batch(0);
  std::uint64_t word = 0;
  ASSERT_TRUE(all.peek_ahead(1, word));
  EXPECT_EQ(word, 10U);
  EXPECT_FALSE(all.peek_ahead(2, word));
  EXPECT_FALSE(all.first(1).peek_ahead(1, word));
}

/// At which of the first positions of a run through empty slots something is fetched ahead.
std::vector<bool> fetches(std::uint64_t head, std::size_t limit, std::size_t expected) {
  std::array<Slot, 32> slots{};
  SlotBatch batch(slots.data(), 31, head, 0, limit, 3, kChannel, 8, expected);
  std::vector<bool> positions;
  for (std::uint64_t end = head + std::min<std::size_t>(limit, 32 - head % 32); batch.head() != end;
       batch.advance())
    positions.push_back(batch.fetches_ahead());
  return positions;
}

TEST(SlotBatchFetches, only_what_has_probably_come) {
  static_assert(SlotBatch::kFetched == 8);
  EXPECT_EQ(fetches(0, 6, 0), std::vector<bool>(6, false)) << "nothing is known";
  EXPECT_EQ(fetches(0, 6, 8), std::vector<bool>(6, false)) << "too few to have any that far ahead";
  EXPECT_EQ(fetches(0, 6, 11), (std::vector<bool>{true, true, true, false, false, false}));
  EXPECT_EQ(fetches(0, 6, 1000), std::vector<bool>(6, true));
}

TEST(SlotBatchFetches, nothing_beyond_the_end_of_the_ring) {
  EXPECT_EQ(fetches(22, 100, 1000),
            (std::vector<bool>{true, true, false, false, false, false, false, false, false, false}));
  EXPECT_EQ(fetches(28, 100, 1000), std::vector<bool>(4, false));
}

}  // namespace
}  // namespace weft::detail
