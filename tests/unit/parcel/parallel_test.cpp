// Loops whose indices are tasks.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/parcel/parcel.hpp>
#include <weft/testing/in_process_job.hpp>

namespace weft::parcel {
namespace {

class Loops : public testing::TestWithParam<unsigned> {
 protected:
  InProcessJob job_{1};
  Runtime runtime_{job_, 0, {.workers = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(Workers, Loops, testing::Values(1, 2),
                         [](const auto& instance) { return std::to_string(instance.param); });

TEST_P(Loops, CallEachIndexOnce) {
  for (const std::size_t grain : {0, 1, 7, 1000, 100'000}) {
    std::vector<int> calls(1013);
    parallel_for(runtime_, 0, 1013, [&](int index) { ++calls[static_cast<std::size_t>(index)]; },
                 {.grain = grain})
        .get();
    EXPECT_EQ(calls, std::vector<int>(1013, 1)) << grain;
  }
}

TEST_P(Loops, CallRangesOfNoMoreThanTheGrain) {
  std::atomic<std::int64_t> sum{0};
  std::atomic<bool> is_right{true};
  parallel_for(runtime_, std::int64_t{-50}, 51,
               [&](std::int64_t begin, std::int64_t end) {
                 if (end - begin < 1 || end - begin > 8) is_right = false;
                 for (std::int64_t index = begin; index < end; ++index) sum += index;
               },
               {.grain = 8})
      .get();
  EXPECT_TRUE(is_right);
  EXPECT_EQ(sum, 0);
}

TEST_P(Loops, OfNothingAndOfTheLargestIndicesEnd) {
  int calls = 0;
  parallel_for(runtime_, 5, 5, [&](int) { ++calls; }).get();
  parallel_for(runtime_, 5, -5, [&](int) { ++calls; }).get();
  EXPECT_EQ(calls, 0);
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  std::atomic<std::uint64_t> sum{0};
  parallel_for(runtime_, kLast - 3, kLast, [&](std::uint64_t index) { sum += kLast - index; }).get();
  EXPECT_EQ(sum, 6U);
  std::atomic<std::uint64_t> indices{0};
  parallel_for(runtime_, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
               [&](std::int64_t begin, std::int64_t end) {
                 indices += static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
               })
      .get();
  EXPECT_EQ(indices, kLast);
}

TEST_P(Loops, EndWithTheFirstException) {
  std::atomic<int> calls{0};
  EXPECT_THROW(parallel_for(runtime_, 0, 100'000,
                            [&](int index) {
                              ++calls;
                              if (index % 10 == 3) throw std::runtime_error("three");
                            },
                            {.grain = 1})
                   .get(),
               std::runtime_error);
  EXPECT_LT(calls, 100'000);
}

TEST_P(Loops, ReduceInTheOrderOfTheIndices) {
  for (const std::size_t grain : {0, 1, 3, 100}) {
    const std::string text =
        parallel_reduce(
            runtime_, 0, 26, std::string(">"),
            [](int index) { return std::string(1, static_cast<char>('a' + index)); },
            [](std::string left, const std::string& right) { return left + right; }, {.grain = grain})
            .get();
    EXPECT_EQ(text, ">abcdefghijklmnopqrstuvwxyz");
  }
  EXPECT_EQ(parallel_reduce(
                runtime_, 3, 3, 9, [](int) { return 1; }, std::plus<>())
                .get(),
            9);
  EXPECT_EQ(parallel_reduce(runtime_, 0, 1'000'000, std::uint64_t{0},
                            [](int index) { return std::uint64_t(index); }, std::plus<>(), {.grain = 1})
                .get(),
            std::uint64_t{999'999} * 500'000);
}

TEST_P(Loops, MayNest) {
  const int sum = runtime_.run([this] {
    return parallel_reduce(runtime_, 0, 20, 0,
                           [this](int row) {
                             return parallel_reduce(
                                        runtime_, 0, 20, 0, [row](int column) { return row * column; },
                                        std::plus<>())
                                 .get();
                           },
                           std::plus<>(), {.grain = 1});
  });
  EXPECT_EQ(sum, 190 * 190);
}

}  // namespace
}  // namespace weft::parcel
