// Tasks and actions that wait until the job is quiet do not keep it from being so themselves.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "conformance/parcel/over_parcelports.hpp"

namespace weft::parcel {
namespace {

class WaitingForQuiet : public test::OverParcelports {};

/// Calls itself on the other rank, and as a task, `left` times.
std::atomic<int> steps{0};
void step(Runtime& runtime, int left) {
  if (left > 0) {
    runtime.apply(1 - runtime.rank(), action<&step>, left - 1);
    static_cast<void>(runtime.spawn([] { ++steps; }));
  }
  ++steps;
}

TEST_P(WaitingForQuiet, InsideTasks) {
  steps = 0;
  run(2, [](Runtime& runtime) {
    for (int round = 1; round <= 5; ++round) {
      // All of a rank that wait at a time wait for one moment.
      std::vector<Future<int>> tasks;
      for (int number = 0; number <= runtime.rank(); ++number)
        tasks.push_back(runtime.spawn([&] {
          runtime.apply(1 - runtime.rank(), action<&step>, 20);
          runtime.wait_quiet();
          return steps.load();
        }));
      for (auto& task : tasks) EXPECT_EQ(task.get(), round * 3 * 41);
      runtime.barrier();
    }
  });
}

std::atomic<int> quiet_calls{0};
void waits_for_quiet(Runtime& runtime) {
  runtime.wait_quiet();
  EXPECT_EQ(steps, 41);
  ++quiet_calls;
}

TEST_P(WaitingForQuiet, InsideActionsOfOtherRanks) {
  steps = 0;
  quiet_calls = 0;
  run(2, [](Runtime& runtime) {
    if (runtime.rank() == 0) runtime.apply(1, action<&step>, 20);
    auto ended = runtime.async(1 - runtime.rank(), action<&waits_for_quiet>);
    ended.get();
    runtime.barrier();
    EXPECT_EQ(quiet_calls, 2);
  });
}

INSTANTIATE_TEST_SUITE_P(Configurations, WaitingForQuiet, testing::ValuesIn(test::settings_of_waits()),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace weft::parcel
