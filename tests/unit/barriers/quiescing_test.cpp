// Withdrawn handles: a thread that has entered a lane before it could see that is waited for.
#include "conformance/network/stage.hpp"
#include "unit/barriers/barrier_watch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace weft::network::test {
namespace {

using weft::test::BarrierOf;
using weft::test::BarrierWatch;

class Quiescing : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(on, Quiescing, testing::Values("shm", "tcp", "mixed"),
                         [](const auto& network) { return std::string(network.param); });

TEST_P(Quiescing, waits_for_who_was_inside_behind_a_barrier) {
  Stage stage(2, {{"network", GetParam()}, {"remote_network", "tcp"}});
  std::atomic<bool> is_inside{false};
  std::atomic<bool> may_leave{false};
  std::atomic<bool> has_left{false};
  stage.notes(1).takes = [&](std::uint64_t) {
    is_inside = true;
    // The limit is a guard: where the barrier is missing, nobody lets this thread go.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!may_leave && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    has_left = true;
    return true;
  };
  ASSERT_EQ(stage.send(0, Stage::to(1, 1), {}), SendResult::sent);
  std::thread poller([&] {
    while (!is_inside) stage[1].poll();
  });
  // On networks of messages the sender has to help its message leave.
  while (!is_inside) stage[0].poll();
  const auto own = std::this_thread::get_id();
  int barriers = 0;
  {
    const BarrierWatch watch([&](BarrierOf) {
      if (std::this_thread::get_id() != own) return;
      if (++barriers == 1) {  // two networks behind one port have one each
        EXPECT_FALSE(has_left) << "the barrier comes before the wait";
      }
      may_leave = true;
    });
    stage.port(1).quiesce();
    EXPECT_TRUE(has_left);
  }
  EXPECT_GE(barriers, 1);
  poller.join();
}

}  // namespace
}  // namespace weft::network::test
