#include <weft/detail/slot_run.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace weft::detail {
namespace {

constexpr std::uint8_t kChannel = 7;

class SlotRunTest : public testing::Test {
 protected:
  void write(std::uint64_t position, std::size_t size, std::uint8_t channel = kChannel,
             SlotKind kind = SlotKind::message) {
    Slot& slot = slots_[position & 7];
    slot.word = position * 10;
    slot.header.store(slot_header(lap_of(position, 7), size, channel, kind));
  }
  SlotRun run(std::uint64_t head, std::size_t limit = 100) {
    return {slots_.data(), 7, head, 0, limit, 3, kChannel};
  }
  /// Takes all that the run shows; how many.
  static std::size_t take_all(SlotRun& run) {
    std::size_t count = 0;
    std::uint64_t word = 0;
    Bytes payload;
    for (; run.look(word, payload); run.advance()) {
      EXPECT_EQ(word, run.head() * 10);
      ++count;
    }
    return count;
  }

  std::array<Slot, 8> slots_{};
};

TEST_F(SlotRunTest, shows_messages_in_order_and_frees_their_slots) {
  for (std::uint64_t position = 10; position < 15; ++position) write(position, position);
  SlotRun all = run(10);
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

TEST_F(SlotRunTest, ends_where_the_ring_ends) {
  for (std::uint64_t position = 6; position < 11; ++position) write(position, 8);
  SlotRun all = run(6);
  EXPECT_EQ(take_all(all), 2U);
  EXPECT_EQ(all.head(), 8U);
  SlotRun rest = run(all.head());
  EXPECT_EQ(take_all(rest), 3U);
}

TEST_F(SlotRunTest, shows_only_what_is_as_large_as_the_one_before_when_asked_for_that) {
  write(0, 8);
  write(1, 8);
  write(2, 9);
  SlotRun all = run(0);
  std::uint64_t word = 0;
  Bytes payload;
  const std::byte* alike = nullptr;
  EXPECT_FALSE(all.look_for_alike(word, alike));
  ASSERT_TRUE(all.look(word, payload));
  all.advance();
  ASSERT_TRUE(all.look_for_alike(word, alike));
  EXPECT_EQ(word, 10U);
  EXPECT_EQ(alike, slots_[1].payload);
  all.advance();
  EXPECT_FALSE(all.look_for_alike(word, alike));
  EXPECT_EQ(take_all(all), 1U);
}

TEST_F(SlotRunTest, goes_on_behind_a_part_of_it) {
  for (std::uint64_t position = 0; position < 5; ++position) write(position, 8);
  SlotRun all = run(0);
  for (const std::size_t most : {2U, 2U, 2U}) {
    SlotRun part = all.first(most);
    take_all(part);
    all.go_on_behind(part);
  }
  EXPECT_EQ(all.head(), 5U);
  EXPECT_EQ(all.first(100).head(), 5U);
}

TEST_F(SlotRunTest, keeps_what_was_looked_at_but_not_taken) {
  write(0, 8);
  SlotRun all = run(0);
  std::uint64_t word = 0;
  Bytes payload;
  EXPECT_TRUE(all.look(word, payload));
  EXPECT_TRUE(all.look(word, payload));
  EXPECT_NE(slots_[0].header.load(), 0U);
}

TEST_F(SlotRunTest, ends_at_its_limit) {
  for (std::uint64_t position = 0; position < 5; ++position) write(position, 8);
  SlotRun some = run(0, 3);
  EXPECT_EQ(take_all(some), 3U);
  EXPECT_NE(slots_[3].header.load(), 0U);
}

TEST_F(SlotRunTest, ends_before_another_channel_kind_lap_or_a_payload_of_several_slots) {
  for (int what = 0; what < 4; ++what) {
    SCOPED_TRACE(what);
    write(0, 8);
    write(1, what == 0 ? detail::kSlotPayload + 1 : detail::kSlotPayload, what == 1 ? 1 : kChannel,
          what == 2 ? SlotKind::packet : SlotKind::message);
    if (what == 3) slots_[1].header.store(slot_header(8, 8, kChannel, SlotKind::message));
    SlotRun all = run(0);
    EXPECT_EQ(take_all(all), 1U);
    EXPECT_NE(slots_[1].header.load(), 0U);
  }
}

TEST_F(SlotRunTest, looks_ahead_of_its_head) {
  write(0, 8);
  write(1, 16);
  const SlotRun all = run(0);
  std::uint64_t word = 0;
  ASSERT_TRUE(all.look_ahead(1, word));
  EXPECT_EQ(word, 10U);
  EXPECT_FALSE(all.look_ahead(2, word));
  EXPECT_FALSE(all.first(1).look_ahead(1, word));
}

/// At which of the first positions of a run through empty slots something is fetched ahead.
std::vector<bool> fetches(std::uint64_t head, std::size_t limit, std::size_t expected) {
  std::array<Slot, 32> slots{};
  SlotRun run(slots.data(), 31, head, 0, limit, 3, kChannel, 8, expected);
  std::vector<bool> positions;
  for (std::uint64_t end = head + std::min<std::size_t>(limit, 32 - head % 32); run.head() != end;
       run.advance())
    positions.push_back(run.fetches_ahead());
  return positions;
}

TEST(SlotRunFetches, only_what_has_probably_come) {
  static_assert(SlotRun::kFetched == 8);
  EXPECT_EQ(fetches(0, 6, 0), std::vector<bool>(6, false)) << "nothing is known";
  EXPECT_EQ(fetches(0, 6, 8), std::vector<bool>(6, false)) << "too few to have any that far ahead";
  EXPECT_EQ(fetches(0, 6, 11), (std::vector<bool>{true, true, true, false, false, false}));
  EXPECT_EQ(fetches(0, 6, 1000), std::vector<bool>(6, true));
}

TEST(SlotRunFetches, nothing_beyond_the_end_of_the_ring) {
  EXPECT_EQ(fetches(22, 100, 1000),
            (std::vector<bool>{true, true, false, false, false, false, false, false, false, false}));
  EXPECT_EQ(fetches(28, 100, 1000), std::vector<bool>(4, false));
}

}  // namespace
}  // namespace weft::detail
