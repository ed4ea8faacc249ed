// The table of operators against plain arithmetic on many values, and what is possible.
#include "core/protocol/one_sided/atomic_update.hpp"

#include <gtest/gtest.h>

#include <random>

namespace weft::core {
namespace {

using detail::atomic_update;
using detail::kCompareSwap;

template <AtomicValue T>
T plain(AtomicOperation operation, T now, T operand, T expected) {
  if constexpr (AtomicInteger<T>) {
    using Wide = std::make_unsigned_t<T>;
    if (operation == AtomicOperation::add)
      return static_cast<T>(static_cast<Wide>(now) + static_cast<Wide>(operand));
    if (operation == AtomicOperation::bit_and) return now & operand;
    if (operation == AtomicOperation::bit_or) return now | operand;
    if (operation == AtomicOperation::bit_xor) return now ^ operand;
    if (operation == AtomicOperation::min) return operand < now ? operand : now;
    if (operation == AtomicOperation::max) return operand > now ? operand : now;
    if (operation == kCompareSwap) return now == expected ? operand : now;
  } else if (operation == AtomicOperation::add) {
    return now + operand;
  }
  return operand;
}

template <class T>
class Updates : public testing::Test {};
using Types = testing::Types<std::uint32_t, std::int32_t, std::uint64_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(Updates, Types);

TYPED_TEST(Updates, make_of_a_value_what_plain_arithmetic_makes_of_it) {
  std::mt19937_64 random(7);
  const auto draw = [&]() -> TypeParam {
    if constexpr (AtomicInteger<TypeParam>)
      return static_cast<TypeParam>(random() >> random() % 60);
    else
      return static_cast<TypeParam>(static_cast<double>(random() % 20'000) / 7 - 1000);
  };
  for (std::uint8_t number = 0; number <= static_cast<std::uint8_t>(kCompareSwap); ++number) {
    const AtomicOperation operation{number};
    if (!is_possible(operation, detail::kAtomicType<TypeParam>)) continue;
    for (int round = 0; round < 2000; ++round) {
      const TypeParam before = draw();
      const TypeParam operand = round % 5 == 0 ? before : draw();
      const TypeParam expected = round % 2 == 0 ? before : draw();
      alignas(16) TypeParam place[3] = {draw(), before, draw()};
      const TypeParam neighbours[2] = {place[0], place[2]};
      const std::uint64_t old =
          carry_out(atomic_update(operation, operand, expected), reinterpret_cast<std::byte*>(&place[1]));
      ASSERT_EQ(place[1], plain(operation, before, operand, expected)) << int{number};
      ASSERT_EQ(old, detail::atomic_bits(before));
      ASSERT_EQ(place[0], neighbours[0]);
      ASSERT_EQ(place[2], neighbours[1]);
    }
  }
}

TYPED_TEST(Updates, have_the_operations_that_the_table_says) {
  constexpr AtomicType kType = detail::kAtomicType<TypeParam>;
  EXPECT_EQ(size_of(kType), sizeof(TypeParam));
  for (int number = 0; number < 256; ++number) {
    const AtomicOperation operation{static_cast<std::uint8_t>(number)};
    const bool expected = AtomicInteger<TypeParam> ? number <= 7 : number <= 1;
    EXPECT_EQ(is_possible(operation, kType), expected) << number;
    EXPECT_EQ(detail::has_operation<TypeParam>(operation), expected) << number;
  }
}

TEST(AtomicTypes, beyond_the_last_have_no_operation) {
  for (int number = 6; number < 256; ++number)
    EXPECT_FALSE(is_possible(AtomicOperation::add, AtomicType{static_cast<std::uint8_t>(number)}));
}

TEST(Doubles, that_are_not_numbers_do_not_keep_an_add_from_ending) {
  double value = std::numeric_limits<double>::quiet_NaN();
  carry_out(atomic_update(AtomicOperation::add, 1.0, 0.0), reinterpret_cast<std::byte*>(&value));
  EXPECT_NE(value, value);
}

}  // namespace
}  // namespace weft::core
