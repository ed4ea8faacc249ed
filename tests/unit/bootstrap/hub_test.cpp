#include "bootstrap/in_process/hub.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace weft::bootstrap {
namespace {

TEST(Hub, ranks_find_the_objects_that_others_share) {
  Hub hub{2};
  const auto zero = hub.join(0);
  const auto one = hub.join(1);
  const auto object = std::make_shared<int>(42);
  zero->share("segment", object);
  EXPECT_EQ(one->shared(0, "segment"), object);
  EXPECT_EQ(one->shared(1, "segment"), nullptr);
  EXPECT_THROW(zero->share("segment", object), Error);
}

TEST(Hub, shared_objects_end_with_their_rank) {
  Hub hub{2};
  auto zero = hub.join(0);
  const auto one = hub.join(1);
  zero->share("segment", std::make_shared<int>(42));
  zero.reset();
  EXPECT_EQ(one->shared(0, "segment"), nullptr);
}

TEST(Hub, an_abort_fails_what_others_wait_for_and_call_later) {
  Hub hub{2};
  const auto zero = hub.join(0);
  const auto one = hub.join(1);
  std::thread waiting{[&] { EXPECT_THROW(zero->barrier(), Error); }};
  one->abort(3, "no input");
  waiting.join();
  try {
    zero->try_get(1, "key");
    ADD_FAILURE() << "an aborted job answered";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rank 1 aborted the job with code 3: no input");
  }
}

TEST(Hub, memberships_may_outlive_it) {
  auto hub = std::make_unique<Hub>(1);
  const auto only = hub->join(0);
  hub.reset();
  only->barrier();
  EXPECT_THROW(Hub{0}, Error);
}

}  // namespace
}  // namespace weft::bootstrap
