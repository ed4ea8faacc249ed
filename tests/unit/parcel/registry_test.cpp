#include <gtest/gtest.h>

#include <weft/error.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "parcel/action_registry.hpp"
#include "parcel/option_text.hpp"
#include "parcel/pending_calls.hpp"
#include "parcel/tasks/steal_deque.hpp"

namespace weft::parcel {
namespace {

TEST(ActionNames, DifferencesAreNamed) {
  EXPECT_EQ(differences({"a", "b"}, {"a", "b"}, 1), "");
  EXPECT_EQ(differences({"a", "b"}, {"a"}, 1), "rank 1 does not have 'b'");
  EXPECT_EQ(differences({"a"}, {"a", "c"}, 2), "only rank 2 has 'c'");
  EXPECT_EQ(differences({"a"}, {"b"}, 2), "rank 2 does not have 'a'; only rank 2 has 'b'");
}

std::string error_of(std::string_view text) {
  try {
    static_cast<void>(parsed({.text = text}));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ParcelOptions, AreReadFromText) {
  const RuntimeOptions options = parsed({.text = "aggregation=queued,zero_copy=16K,workers=3"});
  EXPECT_EQ(options.aggregation, Aggregation::queued);
  EXPECT_EQ(options.zero_copy, 16384U);
  EXPECT_EQ(options.workers, 3U);
}

TEST(ParcelOptions, ErrorsNameOptionValueAndRange) {
  EXPECT_EQ(error_of("workers=300"), "parcel option workers is '300'; it must be 0 to 256");
  EXPECT_EQ(error_of("workers=-1"), "parcel option workers is '-1'; it must be 0 to 256");
  EXPECT_EQ(error_of("aggregation=no"),
            "parcel option aggregation is 'no'; it must be adaptive, immediate or queued");
  EXPECT_EQ(error_of("stack=1K"), "parcel option stack is '1K'; it must be 65536 to 1073741824");
  EXPECT_EQ(error_of("workers"), "parcel option 'workers' has no value; write name=value");
  EXPECT_NE(error_of("color=red").find("there is no parcel option 'color'"), std::string::npos);
}

TEST(PendingCalls, AreTakenOnce) {
  PendingCalls calls;
  detail::FutureState<int> state(nullptr);
  const std::uint64_t name = calls.add(1, {&state, nullptr});
  EXPECT_NE(name, 0U);
  EXPECT_EQ(calls.take(name, 2).state, nullptr) << "another rank cannot answer";
  EXPECT_EQ(calls.take(name, 1).state, &state);
  EXPECT_EQ(calls.take(name, 1).state, nullptr);
  EXPECT_NE(calls.add(1, {&state, nullptr}), name);
  EXPECT_EQ(calls.take_all(1).size(), 1U);
}

TEST(StealDeque, GivesEveryItemToOneThread) {
  constexpr int kItems = 200'000;
  StealDeque<int> deque(64);
  std::vector<int> items(kItems);
  std::vector<std::atomic<int>> taken(kItems);
  std::atomic<int> total{0};
  const auto take = [&](int* item) {
    if (item == nullptr) return;
    taken[static_cast<std::size_t>(item - items.data())].fetch_add(1, std::memory_order_relaxed);
    total.fetch_add(1, std::memory_order_relaxed);
  };
  std::vector<std::thread> thieves;
  for (int thief = 0; thief < 2; ++thief)
    thieves.emplace_back([&] {
      while (total.load(std::memory_order_relaxed) < kItems) take(deque.steal());
    });
  for (int item = 0; item < kItems; ++item) {
    deque.push(&items[static_cast<std::size_t>(item)]);
    if (item % 3 == 0) take(deque.pop());
  }
  while (total.load(std::memory_order_relaxed) < kItems) take(deque.pop());
  for (auto& thief : thieves) thief.join();
  for (const auto& count : taken) ASSERT_EQ(count, 1);
}

}  // namespace
}  // namespace weft::parcel
