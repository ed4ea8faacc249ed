// Arrays of objects, and names.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "conformance/parcel/over_parcelports.hpp"

namespace weft::parcel {
namespace {

using test::ParcelSettings;

class Objects : public test::OverParcelports {};

class Cell {
 public:
  Cell(std::uint64_t index, std::string text) : text_(std::to_string(index) + text) { living_.fetch_add(1); }
  ~Cell() { living_.fetch_sub(1); }
  [[nodiscard]] std::string text() const { return text_; }
  void append(const std::string& more) { text_ += more; }
  [[nodiscard]] static int living() { return living_; }

 private:
  std::string text_;
  static inline std::atomic<int> living_{0};
};

struct Backwards {
  int operator()(std::uint64_t index, std::uint64_t, int ranks) const {
    return ranks - 1 - static_cast<int>(index) % ranks;
  }
};
const auto joined = [](std::string left, const std::string& right) { return left + right; };
std::string text_of(ObjectArray<Cell> array, std::uint64_t index) {
  return array.async(index, action<&Cell::text>).get();
}

TEST_P(Objects, OfAnArrayAreCalledByIndexFromAnyRank) {
  run(3, [](Runtime& runtime) {
    if (runtime.rank() == 0) {
      auto array = make_object_array<Cell>(runtime, 7, std::string("x")).get();
      EXPECT_EQ(array.size(), 7U);
      std::vector<int> ranks;
      for (std::uint64_t index = 0; index < 7; ++index) ranks.push_back(array.rank_of(index));
      EXPECT_EQ(ranks, (std::vector<int>{0, 0, 0, 1, 1, 2, 2}));
      array.async(5, action<&Cell::append>, "!").get();
      EXPECT_EQ(array.async(5, action<&Cell::text>).get(), "5x!");
      EXPECT_EQ(runtime.async(2, action<&text_of>, array, std::uint64_t{5}).get(), "5x!");
      array.async_all(action<&Cell::append>, std::string(".")).get();
      EXPECT_EQ(array.reduce(action<&Cell::text>, joined).get(), "0x.1x.2x.3x.4x.5x!.6x.");
      EXPECT_THROW(static_cast<void>(array.rank_of(7)), Error);
      EXPECT_THROW(static_cast<void>(array.async(7, action<&Cell::text>)), Error);
    }
    runtime.wait_quiet();
    EXPECT_EQ(Cell::living(), 0);
    runtime.barrier();
  });
}

std::uint64_t tasks_here(Runtime& runtime) { return runtime.counters().tasks; }

TEST_P(Objects, AreCalledByOneTaskEach) {
  run(2, [](Runtime& runtime) {
    if (runtime.rank() == 0) {
      constexpr std::uint64_t kCalls = 200;
      auto cell = make_object<Cell>(runtime, 1, std::uint64_t{3}, std::string("x")).get();
      const std::uint64_t before = runtime.async(1, action<&tasks_here>).get();
      for (std::uint64_t call = 0; call < kCalls; ++call)
        ASSERT_EQ(cell.async(action<&Cell::text>).get(), "3x");
      // The answer needs no second one. The rest is what counts itself.
      const std::uint64_t after = runtime.async(1, action<&tasks_here>).get();
      EXPECT_LE(after - before, kCalls + kCalls / 4);
    }
    runtime.barrier();
  });
}

TEST_P(Objects, OfAnArrayLieWhereTheMapSays) {
  run(3, [](Runtime& runtime) {
    if (runtime.rank() == 1) {
      auto cyclic = make_object_array<Cell, CyclicMap>(runtime, 5, std::string("c")).get();
      auto own = make_object_array<Cell, Backwards>(runtime, 5, std::string("b")).get();
      EXPECT_EQ(cyclic.rank_of(4), 1);
      EXPECT_EQ(own.rank_of(4), 1);
      EXPECT_EQ(own.rank_of(3), 2);
      EXPECT_EQ(cyclic.reduce(action<&Cell::text>, joined).get(), "0c3c1c4c2c");
      EXPECT_EQ(own.reduce(action<&Cell::text>, joined).get(), "2b1b4b0b3b");
      // More ranks than elements, and none.
      auto few = make_object_array<Cell>(runtime, 2, std::string("f")).get();
      EXPECT_EQ(few.reduce(action<&Cell::text>, joined).get(), "0f1f");
      auto none = make_object_array<Cell>(runtime, 0, std::string()).get();
      EXPECT_EQ(none.reduce(action<&Cell::text>, joined).get(), std::nullopt);
      none.async_all(action<&Cell::append>, std::string(".")).get();
      EXPECT_THROW(static_cast<void>(ObjectArray<Cell>().async_all(action<&Cell::append>, std::string("."))),
                   Error);
    }
    runtime.wait_quiet();
    EXPECT_EQ(Cell::living(), 0);
    runtime.barrier();
  });
}

TEST_P(Objects, AreFoundByTheirName) {
  run(3, [](Runtime& runtime) {
    if (runtime.rank() == 0) {
      // Looked up by the others before, while, and after.
      auto object = make_object<Cell>(runtime, 2, std::uint64_t{1}, std::string("named")).get();
      register_name(runtime, "a cell", object).get();
      EXPECT_THROW(register_name(runtime, "a cell", object).get(), Error) << "taken";
      EXPECT_THROW(static_cast<void>(register_name(runtime, "no cell", Object<Cell>())), NameError);
    }
    EXPECT_EQ(look_up<Cell>(runtime, "a cell").get().async(action<&Cell::text>).get(), "1named");
    EXPECT_THROW(static_cast<void>(look_up<std::string>(runtime, "a cell").get()), Error) << "another type";
    EXPECT_THROW(static_cast<void>(look_up<Cell>(runtime, "nobody", std::chrono::milliseconds(5)).get()),
                 NameError);
    EXPECT_EQ(look_up<Cell>(runtime, "a cell", std::chrono::hours(1)).get().async(action<&Cell::text>).get(),
              "1named");
    runtime.barrier();
    if (runtime.rank() == 1) {
      EXPECT_TRUE(unregister_name(runtime, "a cell").get());
      EXPECT_FALSE(unregister_name(runtime, "a cell").get());
    }
    runtime.wait_quiet();
    EXPECT_EQ(Cell::living(), 0);
    runtime.barrier();
  });
}

TEST_P(Objects, AndTheirNamesMayBeLeftToTheEndOfTheRuntime) {
  run(2, [](Runtime& runtime) {
    if (runtime.rank() == 0)
      register_name(runtime, "left",
                    make_object<Cell>(runtime, 1, std::uint64_t{1}, std::string("left")).get())
          .get();
    static_cast<void>(look_up<Cell>(runtime, "left").get());
    static_cast<void>(look_up<Cell>(runtime, "never registered"));
  });
  EXPECT_EQ(Cell::living(), 0);
}

/// Migrates by its serialize().
class Ledger {
 public:
  Ledger() { living_.fetch_add(1); }
  ~Ledger() { living_.fetch_sub(1); }
  void add(std::uint32_t entry) {
    const std::lock_guard lock(mutex_);
    entries_.push_back(entry);
  }
  [[nodiscard]] std::vector<std::uint32_t> entries() const { return entries_; }
  [[nodiscard]] int where() const { return Runtime::current()->rank(); }
  int fail() { throw std::runtime_error("refused"); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(entries_, cannot_travel_);
    if constexpr (Archive::is_writer)
      if (cannot_travel_) throw std::runtime_error("it cannot travel");
  }
  void pin() { cannot_travel_ = true; }
  [[nodiscard]] static int living() { return living_; }

 private:
  std::mutex mutex_;
  std::vector<std::uint32_t> entries_;
  bool cannot_travel_ = false;
  static inline std::atomic<int> living_{0};
};

TEST_P(Objects, MoveToAnotherRankAndAreFoundThere) {
  run(3, [](Runtime& runtime) {
    if (runtime.rank() == 0) {
      auto ledger = make_object<Ledger>(runtime, 1).get();
      const auto stale = runtime
                             .async(
                                 2, [](Object<Ledger> handle) { return handle; }, ledger)
                             .get();
      for (const int to : {2, 0, 0, 1, 2}) {
        ledger.async(action<&Ledger::add>, static_cast<std::uint32_t>(to)).get();
        ledger.migrate(to).get();
        EXPECT_EQ(ledger.rank(), to);
        EXPECT_EQ(ledger.async(action<&Ledger::where>).get(), to);
      }
      EXPECT_EQ(stale.rank(), 1) << "nobody has told it";
      EXPECT_EQ(stale.async(action<&Ledger::entries>).get(), (std::vector<std::uint32_t>{2, 0, 0, 1, 2}));
      EXPECT_EQ(stale.rank(), 2) << "its call has";
      EXPECT_THROW(static_cast<void>(stale.async(action<&Ledger::fail>).get()), RemoteError);
      EXPECT_THROW(static_cast<void>(ledger.migrate(3)), Error);
      ledger.async(action<&Ledger::pin>).get();
      EXPECT_THROW(ledger.migrate(1).get(), RemoteError);
      EXPECT_EQ(ledger.async(action<&Ledger::where>).get(), 2) << "it stays";
    }
    runtime.wait_quiet();
    EXPECT_EQ(Ledger::living(), 0);
    runtime.barrier();
  });
}

TEST_P(Objects, MoveWhileCallsArriveAndNoneIsLostOrDoubled) {
  constexpr std::uint32_t kCalls = 300;
  run(3, [](Runtime& runtime) {
    if (runtime.rank() == 0) register_name(runtime, "ledger", make_object<Ledger>(runtime, 1).get()).get();
    const auto ledger = look_up<Ledger>(runtime, "ledger").get();
    std::vector<Future<void>> calls;
    for (std::uint32_t number = 0; number < kCalls; ++number) {
      calls.push_back(
          ledger.async(action<&Ledger::add>, static_cast<std::uint32_t>(runtime.rank()) * kCalls + number));
      if (number % 20 == 0)
        calls.push_back(
            ledger.migrate(static_cast<int>(number / 20 + static_cast<std::uint32_t>(runtime.rank())) % 3));
    }
    when_all(std::move(calls)).get();
    runtime.barrier();
    if (runtime.rank() == 2) {
      auto entries = ledger.async(action<&Ledger::entries>).get();
      std::sort(entries.begin(), entries.end());
      std::vector<std::uint32_t> expected(3 * kCalls);
      std::iota(expected.begin(), expected.end(), 0U);
      EXPECT_EQ(entries, expected);
      EXPECT_TRUE(unregister_name(runtime, "ledger").get());
    }
    runtime.barrier();
  });
  EXPECT_EQ(Ledger::living(), 0);
}

INSTANTIATE_TEST_SUITE_P(Configurations, Objects,
                         testing::Values(ParcelSettings{"shm_adaptive", false, Aggregation::adaptive},
                                         ParcelSettings{"shm_two_workers", false, Aggregation::adaptive, 2},
                                         ParcelSettings{"tcp_adaptive", false, Aggregation::adaptive, 1, 1,
                                                        "tcp"},
                                         ParcelSettings{"loopback_adaptive", true, Aggregation::adaptive}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace weft::parcel
