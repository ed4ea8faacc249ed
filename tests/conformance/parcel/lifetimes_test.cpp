// Runtimes of parcels, and what may live longer than they.
#include <gtest/gtest.h>

#include <weft/testing/in_process_job.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "conformance/parcel/over_parcelports.hpp"

namespace weft::parcel {
namespace {

class Lifetimes : public test::OverParcelports {};

int twofold(int value) { return 2 * value; }
class Tally {
 public:
  Tally() { ++living; }
  ~Tally() { --living; }
  int add(int value) { return sum_ += value; }
  static inline std::atomic<int> living{0};

 private:
  int sum_ = 0;
};

template <class Call>
std::string ended(Call call) {
  try {
    call();
  } catch (const RuntimeEnded& error) {
    return error.what();
  }
  return "no RuntimeEnded";
}

TEST_P(Lifetimes, HandlesAndChannelsMayOutliveTheirRuntime) {
  struct Kept {
    Object<Tally> object;
    std::optional<Channel<int>> channel;
    std::optional<ChannelTo<int>> to;
  };
  std::vector<Kept> kept(2);
  run(2, [&](Runtime& runtime) {
    Kept& mine = kept[static_cast<std::size_t>(runtime.rank())];
    mine.object = make_object<Tally>(runtime, 1 - runtime.rank()).get();
    EXPECT_EQ(mine.object.async(action<&Tally::add>, 5).get(), 5);
    mine.channel.emplace(runtime, 3);
    mine.to.emplace(runtime, 1 - runtime.rank(), 3);
    mine.to->set(1, 7);
    EXPECT_EQ(mine.channel->get(1).get(), 7);
  });
  EXPECT_EQ(Tally::living, 0) << "objects live no longer than the runtime of their rank";
  for (Kept& each : kept) {
    if (!each.object) continue;  // a rank of another process
    EXPECT_EQ(ended([&] { static_cast<void>(each.object.async(action<&Tally::add>, 5)); }),
              "an object was called, but its parcel runtime has ended");
    EXPECT_EQ(ended([&] { static_cast<void>(each.channel->get(2)); }),
              "a channel was asked for a value, but its parcel runtime has ended");
    EXPECT_EQ(ended([&] { each.to->set(2, 1); }),
              "a channel was given a value, but its parcel runtime has ended");
    const Object<Tally> copy = each.object;
  }
}

TEST_P(Lifetimes, WhatIsPendingWhenARuntimeEndsEndsWithAnError) {
  std::optional<Future<int>> values[2];
  std::optional<Future<int>> answers[2];
  std::optional<Future<int>> continued[2];
  std::optional<Promise<int>> never[2];
  static std::optional<Promise<int>> forgotten[2];
  for (auto& promise : forgotten) promise.reset();
  run(2, [&](Runtime& runtime) {
    const auto mine = static_cast<std::size_t>(runtime.rank());
    const int other = 1 - runtime.rank();
    Channel<int> channel(runtime, 3);
    values[mine] = channel.get(1);
    answers[mine] = runtime.async(other, [](Runtime& there) {
      auto& promise = forgotten[there.rank()].emplace(&there.scheduler());
      return promise.future();
    });
    never[mine].emplace(&runtime.scheduler());
    continued[mine] = never[mine]->future().then([](int value) { return value + 1; });
    runtime.barrier();
  });
  for (const std::size_t rank : {0U, 1U}) {
    if (!answers[rank]) continue;
    EXPECT_EQ(ended([&] { answers[rank]->get(); }),
              "rank " + std::to_string(1 - rank) + " had not answered when the parcel runtime ended");
    EXPECT_THROW(values[rank]->get(), Error);
    // There are no workers any more.
    never[rank]->set(4);
    EXPECT_EQ(continued[rank]->get(), 5);
  }
  // Nor somebody who could be answered.
  for (auto& promise : forgotten)
    if (promise) promise->set(6);
}

TEST_P(Lifetimes, RuntimesMayFollowEachOther) {
  for (int count = 0; count < 5; ++count)
    run(2, [&](Runtime& runtime) {
      EXPECT_EQ(runtime.async(1 - runtime.rank(), action<&twofold>, count).get(), 2 * count);
    });
}

std::string error_of_start(InProcessJob& job, int rank, const RuntimeOptions& options) {
  try {
    const Runtime runtime(job, rank, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(ParcelRuntimes, HaveNamesThatTellThemApart) {
  ports::register_all();
  for (const char* const port : {"weft", "tcp"}) {
    InProcessJob job(2);
    std::vector<std::thread> ranks;
    for (const int rank : {0, 1})
      ranks.emplace_back([&job, rank, port] {
        const auto options = [port](const char* name) {
          RuntimeOptions with;
          with.port = port;
          with.workers = 1;
          with.name = name;
          return with;
        };
        Runtime first(job, rank, options(""));
        EXPECT_EQ(error_of_start(job, rank, options("")),
                  "a parcel runtime without a name is open in this process: give each its own "
                  "weft::parcel::RuntimeOptions::name, equal on all ranks, or destroy the first one before");
        Runtime second(job, rank, options("second"));
        EXPECT_EQ(error_of_start(job, rank, options("second")),
                  "a parcel runtime of the name \"second\" is open in this process: give each its own "
                  "weft::parcel::RuntimeOptions::name, equal on all ranks, or destroy the first one before");
        for (int count = 0; count < 50; ++count) {
          auto one = first.async(1 - rank, action<&twofold>, count);
          auto other = second.async(1 - rank, action<&twofold>, count + 1);
          EXPECT_EQ(one.get() + other.get(), 4 * count + 2);
        }
        // A task of one calls by the other.
        EXPECT_EQ(first.run([&] { return second.async(1 - rank, action<&twofold>, 5).get(); }), 10);
        EXPECT_NE(second.description().find("name=second"), std::string::npos);
      });
    for (auto& rank : ranks) rank.join();
  }
}

TEST(ParcelRuntimes, ThatHaveEndedRefuseTheThreadsThatStillCallThem) {
  InProcessJob job(2);
  std::atomic<int> refused{0};
  std::vector<std::thread> ranks;
  // What is left of them stays where it is: a thread that calls one then is told.
  alignas(Runtime) static std::byte places[2][sizeof(Runtime)];
  for (const int rank : {0, 1})
    ranks.emplace_back([&, rank] {
      auto* const runtime = new (places[rank]) Runtime(job, rank, {.workers = 1});
      std::atomic<bool> has_begun{false};
      std::thread caller([&, rank] {
        try {
          for (;;) {
            runtime->apply(1 - rank, action<&twofold>, 1);
            has_begun = true;
            // The destructor waits for a moment in which nothing is under way.
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
          }
        } catch (const RuntimeEnded&) {
          ++refused;
        }
      });
      while (!has_begun) std::this_thread::yield();
      runtime->~Runtime();
      caller.join();
    });
  for (auto& rank : ranks) rank.join();
  EXPECT_EQ(refused, 2);
}

TEST(ParcelRuntimes, OfDifferentOptionsAreRefusedOnAllRanks) {
  ports::register_all();
  const std::pair<const char*, const char*> cases[] = {
      {"devices=2", "parcel option devices is '1' on rank 0 and '2' on rank 1: all ranks must have the same"},
      {"port=sendrecv",
       "parcel option port is 'weft' on rank 0 and 'sendrecv' on rank 1: all ranks must have the same"},
      {"port=tcp",
       "parcel option port is 'weft' on rank 0 and 'tcp' on rank 1: all ranks must have the same"}};
  for (const auto& [text, expected] : cases) {
    InProcessJob job(2);
    std::thread first([&] { EXPECT_EQ(error_of_start(job, 0, {.workers = 1}), expected); });
    EXPECT_EQ(error_of_start(job, 1, {.text = text, .workers = 1}), expected);
    first.join();
  }
}

WEFT_INSTANTIATE_OVER_PARCELPORTS(Lifetimes);

}  // namespace
}  // namespace weft::parcel
