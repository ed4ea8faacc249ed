#include <gtest/gtest.h>

#include <weft/error.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "parcel/action_registry.hpp"
#include "parcel/pending_calls.hpp"
#include "parcel/selection/option_text.hpp"
#include "parcel/tasks/steal_deque.hpp"
#include "study/parcelports/parcelports.hpp"

namespace weft::parcel {
namespace {

TEST(ActionNames, DifferencesAreNamed) {
  EXPECT_EQ(differences({"a", "b"}, {"a", "b"}, 1), "");
  EXPECT_EQ(differences({"a", "b"}, {"a"}, 1), "rank 1 does not have 'b'");
  EXPECT_EQ(differences({"a"}, {"a", "c"}, 2), "only rank 2 has 'c'");
  EXPECT_EQ(differences({"a"}, {"b"}, 2), "rank 2 does not have 'a'; only rank 2 has 'b'");
}

TEST(ActionNames, OfOneNameAreToldApartByTheirLibraries) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(distinct_names({{"a", "/bin/main"}, {"b", "/lib/x.so"}}), (Names{"a", "b"}));
  EXPECT_EQ(distinct_names({{"a", "/lib/x.so"}, {"a", "/usr/lib/y.so"}}), (Names{"a of x.so", "a of y.so"}));
  EXPECT_EQ(distinct_names({{"a", "/usr/lib/y.so"}, {"a", "/lib/x.so"}}), (Names{"a of y.so", "a of x.so"}))
      << "in whatever order they are loaded";
  EXPECT_EQ(distinct_names({{"a", "/1/x.so"}, {"a", "/2/x.so"}}), (Names{"a of /1/x.so", "a of /2/x.so"}));
  EXPECT_EQ(distinct_names({{"a", "main"}, {"a", "main"}, {"a", "x.so"}}),
            (Names{"a of main", "a of main (2)", "a of x.so"}));
  EXPECT_EQ(distinct_names({{"a", "main"}, {"a", "main"}}), (Names{"a", "a (2)"}));
}

std::string error_of(std::string_view text) {
  try {
    ports::register_all();
    static_cast<void>(complete({.text = text}));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ParcelOptions, AreReadFromText) {
  const RuntimeOptions options =
      complete({.text = "aggregation=queued,zero_copy=16K,workers=3,pending_limit=2G,pace=0,name=n1"})
          .options;
  EXPECT_EQ(options.aggregation, Aggregation::queued);
  EXPECT_EQ(options.zero_copy, 16384U);
  EXPECT_EQ(options.workers, 3U);
  EXPECT_EQ(options.pending_limit, std::size_t{2} << 30);
  EXPECT_EQ(options.pace, 0U);
  EXPECT_EQ(options.name, "n1");
  EXPECT_EQ(text_of(options, ""),
            "port=weft,aggregation=queued,progress=workers,devices=1,workers=3,zero_copy=16384,"
            "message_limit=1048576,pending_limit=2147483648,pace=0,connections=8192,stack=1048576,name=n1");
}

TEST(ParcelOptions, ThatAllRanksMustHaveAreCompared) {
  ports::register_all();
  const auto common = [](std::string_view text) { return text_of_common(complete({.text = text})); };
  // A peer sends what follows to the device of that number; who tries again concerns nobody else.
  EXPECT_NE(common("port=putsendrecv,followup_devices=own,retries=own"),
            common("port=putsendrecv,retries=own"));
  EXPECT_EQ(common("port=putsendrecv,retries=own"), common("port=putsendrecv"));
  EXPECT_NE(common("port=putsendrecv"), common("port=sendrecv"));
}

TEST(ParcelOptions, ErrorsNameOptionValueAndRange) {
  EXPECT_EQ(error_of("workers=300"), "parcel option workers is '300'; it must be 0 to 256");
  EXPECT_EQ(error_of("workers=-1"), "parcel option workers is '-1'; it must be 0 to 256");
  EXPECT_EQ(error_of("aggregation=no"),
            "parcel option aggregation is 'no'; it must be adaptive, immediate or queued");
  EXPECT_EQ(error_of("stack=1K"), "parcel option stack is '1K'; it must be 65536 to 1073741824");
  EXPECT_EQ(error_of("workers"), "parcel option 'workers' has no value; write name=value");
  EXPECT_EQ(error_of("pending_limit=0"),
            "parcel option pending_limit is '0'; it must be 1 to 1125899906842624");
  EXPECT_EQ(error_of("name=a b"),
            "parcel option name is 'a b'; it must be up to 50 letters, digits, '-', '_' or '.'");
  EXPECT_EQ(
      error_of("followup_devices=own"),
      "there is no parcel option 'followup_devices'; there are port, aggregation, progress, name, workers, "
      "zero_copy, message_limit, pending_limit, pace, connections, stack, devices");
  EXPECT_TRUE(error_of("port=putsendrecv,header_completion=queue")
                  .ends_with("; and of port=putsendrecv: followup_completion, followup_devices, retries"));
  EXPECT_EQ(error_of("port=mpi,retries=own"), "");
  EXPECT_EQ(error_of("port=mpi,retries="), "parcel option 'retries' has no value; write name=value");
  EXPECT_EQ(error_of("port=mpi,devices=2"),
            "the parcel options progress and devices mean nothing to port=mpi");
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
  EXPECT_EQ(calls.take(name, 1).state, nullptr) << "the answer to the call that had the place before";
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
