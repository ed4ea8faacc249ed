// Workers that sleep in a parcelport, and parcels that come to those that are busy.
#include <gtest/gtest.h>

#include <barrier>
#include <cstdint>
#include <semaphore>
#include <vector>

#include "conformance/parcel/over_parcelports.hpp"
#include "parcel/runtime/core.hpp"

namespace weft::parcel {
namespace {

class Sleeping : public test::OverParcelports {};

constexpr Timeout kForEver = Timeout::of_nanoseconds(std::int64_t{3600} * 1'000'000'000);

TEST_P(Sleeping, EndsByAWakeUpThatCameBeforeIt) {
  run(1, [](Runtime& runtime) {
    Parcelport& port = runtime.port();
    const unsigned outside = runtime.workers();
    const std::uint64_t early = port.wakes();
    port.wake();
    const std::uint64_t late = port.wakes();
    EXPECT_NE(early, late);
    port.park(outside, kForEver, early);
    // Another worker that has looked later, and sleeps, takes it from nobody.
    port.park(outside, Timeout::of_nanoseconds(100'000), late);
    port.park(outside, kForEver, early);
  });
}

WEFT_INSTANTIATE_OVER_PARCELPORTS(Sleeping);

// Of both ranks, which are in one process.
std::binary_semaphore gate(0), is_blocked(0), is_open(0);
void open_gate() {
  gate.release();
  is_open.release();
}

/// Worker 0 blocks its thread, worker 1 has nothing to do, and what ends the block comes to the device of
/// worker 0, as the thread of the other rank that is no worker sends to that one. (Worker 1 looks at it now
/// and then; if it did not, a thread that stands in for worker 0 would do so, later.)
TEST(DevicesOfWorkers, AreLookedAtByOthersWhileTheirWorkersBlock) {
  const test::ParcelSettings settings{"", false, Aggregation::adaptive, 2, 2};
  test::run_parcel_ranks(2, settings, [](Runtime& runtime) {
    if (runtime.rank() == 1) {
      is_blocked.acquire();
      runtime.async(0, action<&open_gate>).get();
      return;
    }
    std::barrier both(2);
    std::vector<Future<void>> tasks;
    for (int task = 0; task < 2; ++task)
      tasks.push_back(runtime.spawn([&] {
        both.arrive_and_wait();
        if (runtime.core().scheduler().worker_number() != 0) return;
        is_blocked.release();
        gate.acquire();
      }));
    is_open.acquire();  // a thread that waits for a task looks at all devices
    for (auto& task : tasks) task.get();
  });
}

}  // namespace
}  // namespace weft::parcel
