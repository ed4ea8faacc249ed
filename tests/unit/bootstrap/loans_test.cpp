// What ranks lend each other through the launcher: whose it is, how much there may be, when it ends.
#include "bootstrap/local/loans.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>

namespace weft::bootstrap::local {
namespace {

constexpr Loans::Lender kFirst{.instance = 0, .rank = 1};
constexpr Loans::Lender kNextRank{.instance = 0, .rank = 2};
constexpr Loans::Lender kNextInstance{.instance = 1, .rank = 1};

Descriptor some_descriptor() { return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

TEST(Loans, are_found_under_their_lender_and_key_only) {
  Loans loans(8);
  ASSERT_TRUE(loans.lend(kFirst, "memory", some_descriptor()));
  EXPECT_NE(loans.find(kFirst, "memory"), nullptr);
  EXPECT_EQ(loans.find(kFirst, "mem"), nullptr);
  EXPECT_EQ(loans.find(kNextRank, "memory"), nullptr);
  EXPECT_EQ(loans.find(kNextInstance, "memory"), nullptr);
}

TEST(Loans, of_others_stay_when_a_rank_leaves) {
  Loans loans(8);
  for (const Loans::Lender& lender : {kFirst, kNextRank, kNextInstance})
    for (const char* key : {"a", "b"}) ASSERT_TRUE(loans.lend(lender, key, some_descriptor()));
  loans.take_back_all(kFirst);
  for (const char* key : {"a", "b"}) {
    EXPECT_EQ(loans.find(kFirst, key), nullptr);
    EXPECT_NE(loans.find(kNextRank, key), nullptr);
    EXPECT_NE(loans.find(kNextInstance, key), nullptr);
  }
  loans.take_back(kNextRank, "a");
  EXPECT_EQ(loans.find(kNextRank, "a"), nullptr);
  EXPECT_NE(loans.find(kNextRank, "b"), nullptr);
}

TEST(Loans, are_no_more_than_there_is_room_for) {
  Loans loans(2);
  ASSERT_TRUE(loans.lend(kFirst, "a", some_descriptor()));
  ASSERT_TRUE(loans.lend(kNextRank, "a", some_descriptor()));
  EXPECT_FALSE(loans.lend(kNextRank, "b", some_descriptor()));
  EXPECT_TRUE(loans.lend(kFirst, "a", some_descriptor())) << "it takes the place of the earlier one";
  loans.take_back(kFirst, "a");
  EXPECT_TRUE(loans.lend(kNextRank, "b", some_descriptor()));
}

TEST(Loans, that_are_used_outlive_their_lender) {
  Loans loans(1);
  ASSERT_TRUE(loans.lend(kFirst, "a", some_descriptor()));
  const auto used = loans.find(kFirst, "a");
  loans.take_back_all(kFirst);
  EXPECT_NE(::fcntl(used->get(), F_GETFD), -1);
}

}  // namespace
}  // namespace weft::bootstrap::local
