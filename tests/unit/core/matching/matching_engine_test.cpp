// What a matching engine expects of the next receive.
#include "core/matching/matching_engine.hpp"

#include <gtest/gtest.h>

namespace weft::core {
namespace {

class Expectation : public testing::TestWithParam<bool> {
 protected:
  MatchingEngine engine_{1, {.buckets = 16, .records = 64}, GetParam()};
};

TEST_P(Expectation, receives_come_first_to_begin_with_and_by_endpoints_of_the_engines_kind) {
  // A serial engine has no fast path before its device is known.
  EXPECT_EQ(engine_.expectation().expects_receives(GetParam()), !GetParam());
  EXPECT_EQ(engine_.expectation().is_begun(), !GetParam());
  engine_.expectation().set_device(3);
  EXPECT_TRUE(engine_.expectation().expects_receives(GetParam()));
  EXPECT_FALSE(engine_.expectation().expects_receives(!GetParam()));
  EXPECT_FALSE(engine_.expectation().expects_unexpected());
}

TEST_P(Expectation, messages_come_first_when_several_in_a_row_did) {
  engine_.expectation().set_device(3);
  for (int message = 0; message < 3; ++message) {
    engine_.expectation().learn_unexpected(true);
    EXPECT_TRUE(engine_.expectation().expects_receives(GetParam())) << "may be the beginning of a window";
    EXPECT_FALSE(engine_.expectation().expects_unexpected());
  }
  for (int message = 0; message < 300; ++message) {
    engine_.expectation().learn_unexpected(true);
    EXPECT_TRUE(engine_.expectation().expects_unexpected());
    EXPECT_FALSE(engine_.expectation().expects_receives(GetParam()));
  }
}

TEST_P(Expectation, of_a_serial_engine_ends_with_its_device_and_goes_on_with_the_next) {
  if (!GetParam()) GTEST_SKIP() << "only serial engines have a device";
  ReceiveExpectation& expectation = engine_.expectation();
  EXPECT_EQ(expectation.device(), -1);
  for (int message = 0; message < 10; ++message) expectation.learn_unexpected(true);
  EXPECT_FALSE(expectation.expects_unexpected()) << "nobody has noted a device";
  expectation.set_device(3);
  EXPECT_EQ(expectation.device(), 3);
  EXPECT_TRUE(expectation.expects_unexpected());
  expectation.forget_device();
  EXPECT_EQ(expectation.device(), -1);
  EXPECT_FALSE(expectation.is_begun());
  EXPECT_FALSE(expectation.expects_unexpected());
  EXPECT_FALSE(expectation.expects_receives(true));
}

TEST_P(Expectation, one_receive_that_came_first_ends_the_row) {
  engine_.expectation().set_device(3);
  for (int message = 0; message < 10; ++message) engine_.expectation().learn_unexpected(true);
  engine_.expectation().learn_unexpected(false);
  EXPECT_FALSE(engine_.expectation().expects_unexpected());
  EXPECT_TRUE(engine_.expectation().expects_receives(GetParam()));
  EXPECT_EQ(engine_.is_serial(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Kinds, Expectation, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "serial" : "shared"; });

}  // namespace
}  // namespace weft::core
