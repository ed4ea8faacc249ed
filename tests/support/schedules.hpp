// What the tests of forced schedules share.
#pragma once

#include "support/model_atomic.hpp"

#include <gtest/gtest.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define WEFT_NEEDS_FIBERS() GTEST_SKIP() << "sanitizers do not follow fibers; the model itself has one thread"
#else
#define WEFT_NEEDS_FIBERS() static_cast<void>(0)
#endif

namespace weft::test::model {

inline constexpr std::uint64_t kSchedules = 3000;

/// The scenario holds under all schedules, and is seen to fail when its releases, or its acquires, are taken
/// away: a model that does not notice would prove nothing.
template <class Scenario>
void expect_sound(const Scenario& scenario) {
  EXPECT_EQ(explore(kSchedules, Weaken::nothing, scenario), "");
  EXPECT_NE(explore(kSchedules, Weaken::releases, scenario), "") << "missing releases were not noticed";
  EXPECT_NE(explore(kSchedules, Weaken::acquires, scenario), "") << "missing acquires were not noticed";
}

/// The scenario holds under all schedules, and is seen to fail when barriers in all threads do nothing:
/// whoever leaves one out would be noticed.
template <class Scenario>
void expect_barrier_is_needed(const Scenario& scenario) {
  EXPECT_EQ(explore(kSchedules, Weaken::nothing, scenario), "");
  EXPECT_NE(explore(kSchedules, Weaken::barriers, scenario), "") << "a missing barrier was not noticed";
}

}  // namespace weft::test::model
