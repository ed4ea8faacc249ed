// What a segment allocates inside itself: rings of new lanes, and rings that take the place of smaller ones.
#include "network/shm/segment/segment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace weft::network::shm {
namespace {

constexpr SegmentGeometry kSmall{
    .bytes = 4U << 20, .devices_max = 1, .regions_max = 1, .packets = 16, .packet_payload = 4096};

TEST(Segment, LargerRingsLeaveHalfOfTheRoomToNewOnes) {
  constexpr std::uint32_t kLarge = 1024;
  Segment all_new(0, "job", kSmall);
  std::size_t fit = 0;
  while (all_new.allocate_ring(kLarge).offset != 0) ++fit;
  ASSERT_GT(fit, 8U);

  Segment segment(0, "job", kSmall);
  std::size_t larger = 0;
  while (segment.allocate_larger_ring(kLarge).offset != 0) ++larger;
  EXPECT_GE(larger, fit / 2 - 1);
  EXPECT_LE(larger, fit / 2);
  std::size_t new_ones = 0;
  while (segment.allocate_ring(kLarge).offset != 0) ++new_ones;
  EXPECT_EQ(larger + new_ones, fit);
}

TEST(Segment, NewRingsUseTheOtherHalfToo) {
  Segment segment(0, "job", kSmall);
  while (segment.allocate_ring(64).offset != 0) {
  }
  EXPECT_EQ(segment.allocate_larger_ring(64).offset, 0U);
}

TEST(Segment, ARingComesBackZeroedOnceItsReceiverHasLeftIt) {
  Segment segment(0, "job", kSmall);
  const Segment::Ring ring = segment.allocate_ring(64);
  segment.slots(ring)[63].word = 7;
  segment.control(ring).credit.store(9);
  segment.retire_ring(ring);
  EXPECT_NE(segment.allocate_ring(64).offset, ring.offset);
  segment.control(ring).released.store(1);
  const Segment::Ring other_size = segment.allocate_ring(128);
  EXPECT_NE(other_size.offset, ring.offset);
  const Segment::Ring again = segment.allocate_larger_ring(64);
  EXPECT_EQ(again.offset, ring.offset);
  EXPECT_EQ(segment.slots(again)[63].word, 0U);
  EXPECT_EQ(segment.control(again).credit.load(), 0U);
  EXPECT_EQ(segment.control(again).released.load(), 0U);
}

TEST(Segment, RingsDoNotShareAPage) {
  Segment segment(0, "job", kSmall);
  std::set<std::uint64_t> pages;
  for (int count = 0; count < 8; ++count) {
    const Segment::Ring ring = segment.allocate_ring(64);
    ASSERT_NE(ring.offset, 0U);
    for (std::uint64_t page = ring.offset / 4096; page <= (ring.offset + ring_bytes(ring.slots) - 1) / 4096;
         ++page)
      EXPECT_TRUE(pages.insert(page).second);
  }
}

TEST(Segment, RingsOfAReceiverThatHasLeftAreUsedAgain) {
  Segment segment(0, "job", kSmall);
  std::atomic<Presence> receiver{Presence::open};
  const std::uint64_t before = segment.used_bytes();
  segment.retire_ring(segment.allocate_ring(64), 0, &receiver);
  EXPECT_GT(segment.used_bytes(), before);
  receiver.store(Presence::closed);
  EXPECT_EQ(segment.used_bytes(), before);
}

TEST(Segment, RoomOfSmallRingsBecomesThatOfLargeOnes) {
  Segment segment(0, "job", kSmall);
  std::vector<Segment::Ring> rings;
  while (true) {
    const Segment::Ring ring = segment.allocate_ring(64);
    if (ring.offset == 0) break;
    segment.slots(ring)[0].word = 1;
    rings.push_back(ring);
  }
  EXPECT_TRUE(segment.allocate_ring(1024).is_full);
  for (const Segment::Ring& ring : rings) {
    segment.control(ring).released.store(1);
    segment.retire_ring(ring);
  }
  const Segment::Ring large = segment.allocate_ring(4096);
  ASSERT_NE(large.offset, 0U);
  for (std::uint32_t slot = 0; slot < large.slots; ++slot) ASSERT_EQ(segment.slots(large)[slot].word, 0U);
}

TEST(Segment, LanesOfDevicesLeaveAQuarterToThoseOfTheRank) {
  Segment segment(0, "job", kSmall);
  std::size_t of_devices = 0;
  while (segment.allocate_device_ring(64).offset != 0) ++of_devices;
  std::size_t of_the_rank = 0;
  while (segment.allocate_ring(64).offset != 0) ++of_the_rank;
  EXPECT_GE(of_the_rank, of_devices / 3);
}

TEST(Segment, AReplySlotIsFreeWhenBothOfItsLanesHaveEnded) {
  Segment segment(0, "job", kSmall);
  const Segment::Ring ring = segment.allocate_ring(64);
  const std::uint64_t reply_slot = segment.allocate_reply_slot();
  ASSERT_NE(reply_slot, 0U);
  segment.retire_ring(ring, reply_slot);
  segment.control(ring).released.store(1);
  std::vector<std::uint64_t> others;
  for (int count = 0; count < 8; ++count) others.push_back(segment.allocate_reply_slot());
  EXPECT_EQ(std::ranges::count(others, reply_slot), 0);
  segment.release_reply_slot(reply_slot);
  segment.release_reply_slot(reply_slot);  // not known any more
  EXPECT_EQ(segment.allocate_reply_slot(), reply_slot);
  EXPECT_NE(segment.allocate_reply_slot(), reply_slot);
}

}  // namespace
}  // namespace weft::network::shm
