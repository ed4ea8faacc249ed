// Nothing that a task sends makes it wait for a rank that computes.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "conformance/parcel/over_parcelports.hpp"

namespace weft::parcel {
namespace {

class BusyPeers : public test::OverParcelports {
 protected:
  void SetUp() override {
    if (GetParam().port.starts_with("mpi"))
      GTEST_SKIP() << "the ranks of MPI are processes, which cannot wait for each other by a variable";
    is_released = false;
    busy = 0;
    received = 0;
  }
  /// Keeps all workers of the rank from communicating until is_released.
  static void occupy(Runtime& runtime, int rank) {
    for (unsigned worker = 0; worker < runtime.workers(); ++worker) runtime.apply(rank, action<&compute>);
    while (busy < runtime.workers()) std::this_thread::yield();
  }
  static void compute() {
    ++busy;
    while (!is_released) std::this_thread::yield();
  }
  static void take(std::vector<char> values) { received += values.size(); }

  static inline std::atomic<bool> is_released{false};
  static inline std::atomic<unsigned> busy{0};
  static inline std::atomic<std::uint64_t> received{0};
};

constexpr std::size_t kArray = std::size_t{512} << 10;

TEST_P(BusyPeers, GetArraysWithoutAnybodyWaiting) {
  run(2, [](Runtime& runtime) {
    if (runtime.rank() == 0) {
      occupy(runtime, 1);
      runtime.run([&] {
        for (int count = 0; count < 60; ++count) runtime.apply(1, action<&take>, std::vector<char>(kArray));
      });
      EXPECT_EQ(received, 0U);
      is_released = true;
    }
    runtime.wait_quiet();
    EXPECT_EQ(received, 60 * kArray);
    EXPECT_EQ(runtime.counters().waits, 0U);
    EXPECT_EQ(runtime.counters().pending, 0U);
    runtime.barrier();
  });
}

TEST_P(BusyPeers, GetSmallParcelsWithoutAnybodyWaiting) {
  constexpr int kParcels = 20'000;  // more than any credit or buffer holds
  run(2, [](Runtime& runtime) {
    if (runtime.rank() == 0) {
      occupy(runtime, 1);
      runtime.run([&] {
        for (int count = 0; count < kParcels; ++count) runtime.apply(1, action<&take>, std::vector<char>(3));
      });
      is_released = true;
    }
    runtime.wait_quiet();
    EXPECT_EQ(received, 3U * kParcels);
    runtime.barrier();
  });
}

TEST_P(BusyPeers, GetHeadsLongerThanAnyMessageWithoutAnybodyWaiting) {
  using Long = std::vector<std::vector<char>>;
  run(2, [](Runtime& runtime) {
    const auto take_all = [](const Long& rows) {
      for (const auto& row : rows) received += row.size();
    };
    if (runtime.rank() == 0) {
      occupy(runtime, 1);
      runtime.run([&] {
        for (int count = 0; count < 40; ++count) {
          Long rows(3000, std::vector<char>(30));
          rows.emplace_back(20'000);
          runtime.apply(1, take_all, std::move(rows));
        }
      });
      is_released = true;
    }
    runtime.wait_quiet();
    EXPECT_EQ(received, 40U * (3000 * 30 + 20'000));
    runtime.barrier();
  });
}

/// With an option more than the settings of the test.
class BoundedPeers : public BusyPeers {
 protected:
  void SetUp() override {
    BusyPeers::SetUp();
    if (std::string(GetParam().text).find("progress=") == 0)
      GTEST_SKIP() << "a progress thread takes arrays while the workers compute";
  }
};

TEST_P(BoundedPeers, BeyondTheLimitTheTaskWaitsAndNotItsWorker) {
  test::ParcelSettings settings = GetParam();
  const std::string text =
      std::string(settings.text) + (*settings.text == '\0' ? "" : ",") + "pending_limit=4M";
  settings.text = text.c_str();
  settings.workers = 1;
  test::run_parcel_ranks(2, settings, [](Runtime& runtime) {
    if (runtime.rank() == 0) {
      occupy(runtime, 1);
      std::atomic<int> sent{0};
      auto sender = runtime.spawn([&] {
        for (int count = 0; count < 60; ++count, ++sent)
          runtime.apply(1, action<&take>, std::vector<char>(kArray));
      });
      while (runtime.counters().waits == 0) std::this_thread::yield();
      // The one worker runs another task.
      runtime.run([&] { EXPECT_LT(sent, 60); });
      EXPECT_LE(runtime.counters().pending, (std::size_t{4} << 20) + 2 * kArray);
      is_released = true;
      sender.get();
    }
    runtime.wait_quiet();
    EXPECT_EQ(received, 60 * kArray);
    runtime.barrier();
  });
}

TEST_P(BoundedPeers, BeyondTheLimitAThreadThatIsNoWorkerSleeps) {
  test::ParcelSettings settings = GetParam();
  const std::string text =
      std::string(settings.text) + (*settings.text == '\0' ? "" : ",") + "pending_limit=4M";
  settings.text = text.c_str();
  test::run_parcel_ranks(2, settings, [](Runtime& runtime) {
    if (runtime.rank() == 0) {
      occupy(runtime, 1);
      std::thread sender([&] {
        for (int count = 0; count < 60; ++count) runtime.apply(1, action<&take>, std::vector<char>(kArray));
      });
      while (runtime.counters().waits == 0) std::this_thread::yield();
      is_released = true;
      sender.join();
    }
    runtime.wait_quiet();
    EXPECT_EQ(received, 60 * kArray);
    runtime.barrier();
  });
}

TEST(BusyWorkers, GetArraysFromAProgressThread) {
  static std::atomic<bool> is_released;
  static std::atomic<bool> is_busy;
  static std::atomic<std::uint64_t> received;
  for (const char* const text : {"progress=thread", "progress=both", "progress=thread,devices=2"}) {
    is_released = is_busy = false;
    received = 0;
    test::run_parcel_ranks(2, {"progress", false, Aggregation::adaptive, 1, 1, "weft", text},
                           [](Runtime& runtime) {
                             if (runtime.rank() == 0) {
                               runtime.apply(1, [] {
                                 is_busy = true;
                                 while (!is_released) std::this_thread::yield();
                               });
                               while (!is_busy) std::this_thread::yield();
                               for (int count = 0; count < 20; ++count)
                                 runtime.apply(
                                     1, [](const std::vector<char>& values) { received += values.size(); },
                                     std::vector<char>(kArray));
                               // They have all landed, although the only worker there computes.
                               while (runtime.counters().pending != 0) std::this_thread::yield();
                               EXPECT_EQ(received, 0U);
                               is_released = true;
                             }
                             runtime.wait_quiet();
                             EXPECT_EQ(received, 20 * kArray);
                             runtime.barrier();
                           });
  }
}

WEFT_INSTANTIATE_OVER_PARCELPORTS(BusyPeers);
WEFT_INSTANTIATE_OVER_PARCELPORTS(BoundedPeers);

}  // namespace
}  // namespace weft::parcel
