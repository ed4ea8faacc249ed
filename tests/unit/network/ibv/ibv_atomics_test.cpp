// Atomic operations that devices carry out, while something goes wrong.
#include "unit/network/ibv/region_pair.hpp"

#include <cstdint>
#include <cstring>

namespace weft::network::ibv {
namespace {

using network::test::Stage;
using weft::test::payload;

class IbvAtomics : public RegionPair {
 protected:
  [[nodiscard]] AccessResult change(int rank, const Region& in, std::uint64_t offset, NativeAtomic how,
                                    std::uint64_t* old, std::uint64_t token) {
    RemoteMemory where = at(in);
    where.offset = offset;
    AccessResult result = AccessResult::no_slot;
    EXPECT_TRUE(stage_.until([&] {
      result = stage_.port(rank).atomic(1, where, how, reinterpret_cast<std::byte*>(old), token);
      return result != AccessResult::no_slot && result != AccessResult::not_ready;
    }));
    return result;
  }
  [[nodiscard]] std::uint64_t value_at(std::size_t offset) const {
    std::uint64_t value = 0;
    std::memcpy(&value, regions_[1].bytes.data() + offset, sizeof value);
    return value;
  }
};

TEST_F(IbvAtomics, AreCarriedOutOnceWhateverTheQueuesDo) {
  constexpr std::uint64_t kEach = 300;
  Fabric::instance().set({.seed = 3, .refuse_sends = 3, .lose_datagrams = 3});
  std::uint64_t sum_of_old = 0;
  for (const int rank : {0, 1}) {  // the owner as well
    std::uint64_t old = 0;
    for (std::uint64_t token = 0; token < kEach; ++token) {
      ASSERT_EQ(change(rank, regions_[1], 8, {.operand = 2}, &old, token), AccessResult::posted);
      ASSERT_EQ(end_of(rank, token), Outcome::ok);
      sum_of_old += old;
    }
  }
  EXPECT_EQ(value_at(8), 4 * kEach);
  EXPECT_EQ(sum_of_old, 2 * kEach * (2 * kEach - 1));
}

TEST_F(IbvAtomics, CompareAndSwapTellWhatTheyHaveFound) {
  std::uint64_t old = 7;
  ASSERT_EQ(change(0, regions_[1], 16, {true, 5, 0}, &old, 1), AccessResult::posted);
  ASSERT_EQ(end_of(0, 1), Outcome::ok);
  EXPECT_EQ(old, 0U);
  ASSERT_EQ(change(0, regions_[1], 16, {true, 9, 4}, &old, 2), AccessResult::posted);
  ASSERT_EQ(end_of(0, 2), Outcome::ok);
  EXPECT_EQ(old, 5U);
  EXPECT_EQ(value_at(16), 5U);
  ASSERT_EQ(change(0, regions_[1], 16, {.operand = ~std::uint64_t{0}}, nullptr, 3), AccessResult::posted);
  ASSERT_EQ(end_of(0, 3), Outcome::ok);
  EXPECT_EQ(value_at(16), 4U);
}

TEST_F(IbvAtomics, BehindOneThatIsRefusedAreCarriedOutOnce) {
  constexpr std::uint64_t kMany = 20;
  Region stale = add(1, {2, 1});
  remove(1, stale);
  ASSERT_EQ(change(0, regions_[1], 0, {.operand = 1}, nullptr, kMany), AccessResult::posted);
  ASSERT_EQ(end_of(0, kMany), Outcome::ok);
  Fabric::instance().set({.hides_completions = true});
  for (std::uint64_t token = 0; token < kMany; ++token)
    ASSERT_EQ(change(0, token == 7 ? stale : regions_[1], 0, {.operand = 1}, nullptr, token),
              AccessResult::posted);
  Fabric::instance().set({});
  for (std::uint64_t token = 0; token < kMany; ++token)
    EXPECT_EQ(end_of(0, token), token == 7 ? Outcome::refused : Outcome::ok) << token;
  EXPECT_EQ(value_at(0), kMany);
  EXPECT_EQ(change(0, regions_[1], 4, {.operand = 1}, nullptr, 100), AccessResult::refused) << "not aligned";
  EXPECT_EQ(change(0, regions_[1], kRegionBytes, {.operand = 1}, nullptr, 101), AccessResult::refused);
}

TEST_F(OverDouble, ADeviceWithoutAtomicsHasNoNativeOnes) {
  Fabric::instance().set({.has_no_atomics = true});
  Stage without(1, settings());
  EXPECT_FALSE(without[0].network->has_native_atomics());
  Fabric::instance().set({});
  Stage with(1, settings());
  EXPECT_TRUE(with[0].network->has_native_atomics());
}

}  // namespace
}  // namespace weft::network::ibv
