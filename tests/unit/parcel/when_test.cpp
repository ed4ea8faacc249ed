// Futures of several futures.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <weft/parcel/parcel.hpp>
#include <weft/testing/in_process_job.hpp>

namespace weft::parcel {
namespace {

class When : public testing::TestWithParam<unsigned> {
 protected:
  InProcessJob job_{1};
  Runtime runtime_{job_, 0, {.workers = GetParam()}};
  std::vector<Promise<int>> promises_;

  std::vector<Future<int>> futures(int count) {
    std::vector<Future<int>> all;
    for (int number = 0; number < count; ++number) {
      promises_.emplace_back(&runtime_.scheduler());
      all.push_back(promises_.back().future());
    }
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, When, testing::Values(1, 2),
                         [](const auto& instance) { return std::to_string(instance.param); });

TEST_P(When, AnyGivesTheFirstAndKeepsTheOthers) {
  auto any = when_any(futures(3));
  promises_[1].set(11);
  auto first = any.get();
  ASSERT_EQ(first.index, 1U);
  EXPECT_EQ(first.futures[1].get(), 11);
  EXPECT_FALSE(first.futures[0].ready());
  promises_[2].set(12);
  promises_[0].set_exception(std::make_exception_ptr(std::runtime_error("late")));
  EXPECT_EQ(first.futures[2].get(), 12);
  EXPECT_THROW(first.futures[0].get(), std::runtime_error);
}

TEST_P(When, AnyOfOneThatIsReady) {
  std::vector<Future<int>> ready;
  ready.push_back(make_ready(3));
  ready.push_back(make_ready(4));
  auto first = when_any(std::move(ready)).get();
  EXPECT_EQ(first.futures[first.index].get(), first.index == 0 ? 3 : 4);
}

TEST_P(When, AnyOfNoneIsRefused) {
  EXPECT_THROW(static_cast<void>(when_any(std::vector<Future<int>>())), Error);
}

TEST_P(When, AnyOfSeveralTypes) {
  Promise<int> never(&runtime_.scheduler());
  auto first = when_any(never.future(), runtime_.spawn([] { return std::string("text"); })).get();
  EXPECT_EQ(first.index, 1U);
  EXPECT_EQ(std::get<1>(first.futures).get(), "text");
}

TEST_P(When, EachCallsInTheOrderInWhichTheyCome) {
  std::vector<std::size_t> order;
  std::vector<int> values;
  auto all = when_each(futures(3), [&](std::size_t index, Future<int> future) {
    order.push_back(index);
    values.push_back(future.get());
  });
  for (const int index : {2, 0, 1}) {
    promises_[static_cast<std::size_t>(index)].set(10 * index);
    runtime_.run([] {});
    if (GetParam() == 1) {
      EXPECT_EQ(order.back(), static_cast<std::size_t>(index));
    }
  }
  all.get();
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, (std::vector<int>{0, 10, 20}));
  when_each(std::vector<Future<int>>(), [](Future<int>) { FAIL() << "of nothing"; }).get();
}

TEST_P(When, EachEndsWithTheFirstExceptionAfterAllCalls) {
  int called = 0;
  auto all = when_each(futures(50), [&](Future<int> future) {
    ++called;
    if (future.get() == 7) throw std::runtime_error("seven");
  });
  for (int number = 0; number < 50; ++number) promises_[static_cast<std::size_t>(number)].set(number);
  EXPECT_THROW(all.get(), std::runtime_error);
  EXPECT_EQ(called, 50);
}

TEST_P(When, EachNeverCallsTwoAtATime) {
  std::vector<Future<int>> many;
  for (int number = 0; number < 2000; ++number) many.push_back(runtime_.spawn([number] { return number; }));
  int sum = 0;  // not atomic: ThreadSanitizer looks
  when_each(std::move(many), [&](Future<int> future) { sum += future.get(); }).get();
  EXPECT_EQ(sum, 1999 * 1000);
}

}  // namespace
}  // namespace weft::parcel
