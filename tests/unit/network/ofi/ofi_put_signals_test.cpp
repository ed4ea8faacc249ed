// Each signal of a put is told once, however often and in which order the put is posted again.
#include "network/ofi/put_signals.hpp"

#include <gtest/gtest.h>

namespace weft::network::ofi {
namespace {

TEST(OfiPutSignals, keep_all_their_fields) {
  const PutSignal most{0xfedcba98, PutSignal::kNumbers - 1, 255, PutSignal::kMostRanks - 1};
  for (const PutSignal& signal : {most, PutSignal{1, 0, 0, 0}, PutSignal{0, 1, 0, 0}, PutSignal{0, 0, 1, 0},
                                  PutSignal{0, 0, 0, 1}, PutSignal{}}) {
    const PutSignal back = PutSignal::of(signal.word());
    EXPECT_EQ(back.value, signal.value);
    EXPECT_EQ(back.number, signal.number);
    EXPECT_EQ(back.device, signal.device);
    EXPECT_EQ(back.rank, signal.rank);
  }
}

TEST(OfiPutSignals, come_again_without_being_told_again) {
  KnownSignals known;
  for (std::uint32_t next = 0; next < 3 * PutSignal::kNumbers; ++next) {
    EXPECT_TRUE(known.is_new(next % PutSignal::kNumbers)) << next;
    for (std::uint32_t back = 0; back < 64 && back <= next; ++back)
      EXPECT_FALSE(known.is_new((next - back) % PutSignal::kNumbers)) << next << " " << back;
  }
}

TEST(OfiPutSignals, come_in_any_order) {
  KnownSignals known;
  for (const std::uint32_t next : {0U, 1U, 2U}) EXPECT_TRUE(known.is_new(next));
  // All that may be under way come back, and are posted again from the last to the first.
  for (std::uint32_t next = 66; next > 2; --next) EXPECT_TRUE(known.is_new(next)) << next;
  for (std::uint32_t next = 0; next <= 66; ++next) EXPECT_FALSE(known.is_new(next)) << next;
  EXPECT_TRUE(known.is_new(67));
}

TEST(OfiPutSignals, leave_out_what_was_refused) {
  KnownSignals known;
  constexpr std::uint32_t kMost = PutSignal::kMostAhead;
  EXPECT_TRUE(known.is_new(5));
  EXPECT_TRUE(known.is_new(5 + kMost));
  EXPECT_FALSE(known.is_new(5 + kMost));
  EXPECT_TRUE(known.is_new(4 + kMost));
  EXPECT_TRUE(known.is_new((5 + 2 * kMost) % PutSignal::kNumbers));
}

}  // namespace
}  // namespace weft::network::ofi
