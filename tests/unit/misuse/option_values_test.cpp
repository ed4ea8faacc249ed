// What options accept: integers of every type as indices, durations that count in floating point.
#pragma GCC diagnostic error "-Wconversion"
#pragma GCC diagnostic error "-Wsign-conversion"
#pragma GCC diagnostic error "-Wnarrowing"
#include <weft/weft.hpp>

#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace weft {
namespace {

using test::error_of;
using test::expect_names;
using namespace std::chrono_literals;

enum Plain : int { kPlain = 3 };

/// Options made of a variable of any integer type, as programs make them of loop variables.
template <class Integer>
void expect_taken(Integer three) {
  EXPECT_EQ((SendOptions{.engine = three, .device = three}.device), 3);
  EXPECT_EQ((ReceiveOptions{.engine = three}.engine), 3);
  EXPECT_EQ((AccessOptions{.device = three}.device), 3);
  EXPECT_EQ((ExposeOptions{.id = three, .device = three}.id), 3U);
  EXPECT_EQ((DeviceOptions{.index = three}.index), 3);
  EXPECT_EQ((MatchingEngineOptions{.id = three}.id), 3);
  EXPECT_EQ((CollectiveOptions{.key = three, .handle = three}.handle), 3U);
  EXPECT_EQ((StreamOptions{.device = three}.device), 3);
  EXPECT_EQ(RemoteCompletion(1, 1, 0).on_device(three).device(), 3);
}

TEST(Index, TakesIntegersOfEveryTypeWithoutACast) {
  expect_taken(3);
  expect_taken(3U);
  expect_taken(3L);
  expect_taken(std::size_t{3});
  expect_taken(std::int8_t{3});
  expect_taken(std::uint8_t{3});
  expect_taken(std::uint16_t{3});
  expect_taken(kPlain);
  static_assert(SendOptions{.device = 7}.device == 7, "constants, too");
  static_assert(!std::is_convertible_v<bool, DeviceIndex> && !std::is_convertible_v<double, DeviceIndex>);
  static_assert(sizeof(DeviceIndex) == 1 && sizeof(EngineId) == 2);
  static_assert(std::is_trivially_copyable_v<SendOptions>);
}

TEST(Index, RefusesWhatItCannotHold) {
  volatile int minus_one = -1;
  volatile int many = 300;
  volatile std::uint64_t most = ~std::uint64_t{0};
  expect_names(error_of([&] { static_cast<void>(SendOptions{.device = int{minus_one}}); }),
               {"device index -1 is out of range: 0 to 255"});
  expect_names(error_of([&] { static_cast<void>(AccessOptions{.device = int{many}}); }),
               {"device index 300 is out of range: 0 to 255"});
  expect_names(error_of([&] { static_cast<void>(SendOptions{.engine = std::uint64_t{most}}); }),
               {"matching engine id 18446744073709551615 is out of range: 0 to 511"});
  expect_names(error_of([&] { static_cast<void>(ExposeOptions{.id = int{minus_one}}); }),
               {"id of an exposed object: -1 is out of range: 0 to 65535"});
}

TEST(Index, LeavesToTheCallsWhatExists) {
  Runtime runtime;
  Counter counter;
  volatile int far = 200;
  expect_names(error_of([&] { static_cast<void>(runtime.expose(counter, {.id = 1, .device = int{far}})); }),
               {"expose: home device 200 of id 1 is out of range: 0 to"});
  expect_names(error_of([&] { const Device device(runtime, {.index = int{far}}); }),
               {"device index 200 is out of range: 0 to"});
}

TEST(Timeout, TakesDurationsThatCountInFloatingPoint) {
  EXPECT_EQ(Timeout(0.5s).count(), 500'000'000);
  EXPECT_EQ(Timeout(1.5ms).count(), 1'500'000);
  EXPECT_EQ(Timeout(0.1s).count(), 100'000'000);
  EXPECT_EQ(Timeout(-0.25s).count(), -250'000'000);
  EXPECT_EQ(Timeout(std::chrono::duration<float>(0.25F)).count(), 250'000'000);
  EXPECT_EQ(Timeout(std::chrono::duration<double, std::ratio<1, 3>>(3)).count(), 1'000'000'000);
  EXPECT_EQ(Timeout(0.0s).count(), 0);
  static_assert(Timeout(0.5s).count() == 500'000'000);
}

TEST(Timeout, NeverTurnsAShortDurationIntoNone) {
  EXPECT_EQ(Timeout(1e-12s).count(), 1);
  EXPECT_EQ(Timeout(-1e-12s).count(), -1);
}

TEST(Timeout, ClampsWhatIsTooLong) {
  using Seconds = std::chrono::duration<double>;
  EXPECT_EQ(Timeout(Seconds(1e300)).count(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(Timeout(Seconds(-1e300)).count(), -std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(Timeout(Seconds(std::numeric_limits<double>::quiet_NaN())).count(),
            std::numeric_limits<std::int64_t>::max());
}

TEST(Timeout, OfFloatingPointEndsAWait) {
  Runtime runtime;
  Endpoint endpoint{runtime};
  Counter counter;
  EXPECT_FALSE(endpoint.wait_for(counter, 0.01s));
  std::uint64_t word = 0;
  EXPECT_EQ(endpoint.receive(0, 1, mutable_bytes_of(word), {.timeout = 0.01s}).outcome(), Outcome::timed_out);
}

TEST(Collective, ReducesVariables) {
  Runtime runtime;
  Endpoint endpoint{runtime};
  Collective collective{runtime, endpoint};
  double sum = 0;
  ASSERT_EQ(collective.allreduce(2.5, sum, operators::Sum{}), Outcome::ok);
  EXPECT_EQ(sum, 2.5);
  struct Pair {
    int first;
    int second;
  };
  const auto add = [](const Pair& a, const Pair& b) { return Pair{a.first + b.first, a.second + b.second}; };
  const Pair mine{1, 2};
  Pair both{};
  ASSERT_EQ(collective.reduce(mine, both, add, 0), Outcome::ok);
  EXPECT_EQ(both.second, 2);
  int word = 4;
  EXPECT_EQ(collective.broadcast(word, 0), Outcome::ok);
  CollectiveOperation operation = collective.make_allreduce(mine, both, add);
  operation.start();
  EXPECT_EQ(operation.wait(), Outcome::ok);
  EXPECT_EQ(both.first, 1);
}

}  // namespace
}  // namespace weft
