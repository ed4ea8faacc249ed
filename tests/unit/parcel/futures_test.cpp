// Futures, shared futures and coroutines of one rank, with one worker and with two, and without a runtime.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <weft/parcel/parcel.hpp>
#include <weft/testing/in_process_job.hpp>

namespace weft::parcel {
namespace {

static_assert(!std::is_copy_constructible_v<Future<int>> && !std::is_copy_assignable_v<Future<int>>);
static_assert(!std::is_copy_constructible_v<Future<void>> &&
              std::is_nothrow_move_constructible_v<Future<void>>);
static_assert(!std::is_copy_constructible_v<Promise<int>> && !std::is_copy_assignable_v<Promise<int>>);
static_assert(std::is_copy_constructible_v<SharedFuture<int>> &&
              std::is_copy_assignable_v<SharedFuture<int>>);
static_assert(
    std::is_same_v<decltype(std::declval<const SharedFuture<std::string>&>().get()), const std::string&>);
static_assert(std::is_same_v<decltype(std::declval<SharedFuture<std::string>>().get()), std::string>);
template <class F>
concept SharesLvalues = requires(F& future) {
  future.share();
};
static_assert(!SharesLvalues<Future<int>>, "to share a future is to give it up");

template <class Call>
std::string misuse(Call call) {
  try {
    call();
  } catch (const FutureMisuse& error) {
    return error.what();
  }
  return "(nothing thrown)";
}

TEST(AFutureWithoutAValue, IsRefusedByEveryMember) {
  Future<int> none;
  const auto expect = [](const std::string& call, const std::string& text) {
    EXPECT_EQ(text.rfind(call + " of a future that has no value to give", 0), 0U) << text;
  };
  EXPECT_FALSE(none.valid());
  expect("get()", misuse([&] { none.get(); }));
  expect("wait()", misuse([&] { none.wait(); }));
  expect("ready()", misuse([&] { static_cast<void>(none.ready()); }));
  expect("wait_for()", misuse([&] { static_cast<void>(none.wait_for(std::chrono::seconds(1))); }));
  expect("then()", misuse([&] { static_cast<void>(none.then([](int) {})); }));
  expect("share()", misuse([&] { static_cast<void>(std::move(none).share()); }));
  expect("co_await", misuse([&] { static_cast<void>(none.operator co_await()); }));
  std::vector<Future<int>> several;
  several.emplace_back();
  expect("ready()", misuse([&] { static_cast<void>(when_all(std::move(several))); }));
  const SharedFuture<int> none_shared;
  expect("get()", misuse([&] { static_cast<void>(none_shared.get()); }));
  expect("wait()", misuse([&] { none_shared.wait(); }));
  expect("ready()", misuse([&] { static_cast<void>(none_shared.ready()); }));
  expect("copy()", misuse([&] { static_cast<void>(none_shared.then([](int) {})); }));
}

TEST(AFuture, GivesItsValueOnce) {
  auto future = make_ready(std::string("a value longer than sixteen bytes"));
  EXPECT_EQ(future.get(), "a value longer than sixteen bytes");
  EXPECT_FALSE(future.valid());
  EXPECT_NE(misuse([&] { future.get(); }), "(nothing thrown)");
}

TEST(APromise, IsSetOnceAndHasOneFuture) {
  Promise<int> promise;
  auto future = promise.future();
  EXPECT_NE(misuse([&] { static_cast<void>(promise.future()); }).find("share()"), std::string::npos);
  EXPECT_NE(misuse([&] { promise.set_exception(nullptr); }).find("null"), std::string::npos);
  promise.set(1);
  EXPECT_NE(misuse([&] { promise.set(2); }).find("already"), std::string::npos);
  EXPECT_NE(misuse([&] { promise.set_exception(std::make_exception_ptr(1)); }).find("already"),
            std::string::npos);
  Promise<int> moved(std::move(promise));
  EXPECT_NE(misuse([&] { static_cast<void>(promise.future()); }).find("moved"), std::string::npos);
  EXPECT_NE(misuse([&] { promise.set(3); }).find("moved"), std::string::npos);
  EXPECT_NE(misuse([&] { moved.set(3); }).find("already"), std::string::npos);
  EXPECT_EQ(future.get(), 1);
}

TEST(APromise, MayBeSetAgainWhenTheValueThrew) {
  struct Refusing {
    explicit Refusing(bool refuses) {
      if (refuses) throw std::runtime_error("refused");
    }
  };
  Promise<Refusing> promise;
  auto future = promise.future();
  EXPECT_THROW(promise.set(true), std::runtime_error);
  EXPECT_FALSE(future.ready());
  promise.set(false);
  EXPECT_NO_THROW(future.get());
}

TEST(APromise, IsSetByOneOfSeveralThreads) {
  for (int round = 0; round < 200; ++round) {
    Promise<int> promise;
    auto future = promise.future();
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread)
      threads.emplace_back([&, thread] {
        try {
          promise.set(thread);
        } catch (const FutureMisuse&) {
          ++refused;
        }
      });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(refused, 2);
    EXPECT_LT(future.get(), 3);
  }
}

TEST(APromise, ThatIsAssignedOverBreaksTheOneBefore) {
  Promise<int> promise;
  auto first = promise.future();
  promise = Promise<int>();
  EXPECT_THROW(first.get(), BrokenPromise);
  auto second = promise.future();
  promise.set(2);
  EXPECT_EQ(second.get(), 2);
}

TEST(ContinuationsWithoutARuntime, RunInTheThreadThatSetsTheValue) {
  Promise<int> promise(nullptr);
  std::thread::id where;
  auto result = promise.future().then([&](int value) {
    where = std::this_thread::get_id();
    return value + 1;
  });
  promise.set(1);
  EXPECT_EQ(where, std::this_thread::get_id());
  EXPECT_EQ(result.get(), 2);
}

TEST(ContinuationsWithoutARuntime, MayWaitForThoseThatComeAfterThem) {
  // Deep in a chain, where continuations are put off until the stack is free.
  Promise<int> first(nullptr);
  Promise<int> second(nullptr);
  auto chain = first.future();
  for (int link = 0; link < 40; ++link) chain = chain.then([](int value) { return value; });
  auto late = second.future().then([](int value) { return 2 * value; });
  auto sum = chain.then([&](int value) {
    second.set(4);
    return value + late.get();
  });
  first.set(1);
  EXPECT_EQ(sum.get(), 9);
}

class FuturesOfARuntime : public testing::TestWithParam<unsigned> {
 protected:
  InProcessJob job_{1};
  Runtime runtime_{job_, 0, {.workers = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(Workers, FuturesOfARuntime, testing::Values(1, 2),
                         [](const auto& instance) { return std::to_string(instance.param); });

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kMany = 50'000;
#else
constexpr int kMany = 1'000'000;
#endif

TEST_P(FuturesOfARuntime, AMillionLinksOfThenNeedNoStack) {
  for (Scheduler* const scheduler : {&runtime_.scheduler(), static_cast<Scheduler*>(nullptr)}) {
    Promise<int> promise(scheduler);
    auto chain = promise.future();
    for (int link = 0; link < kMany; ++link) chain = chain.then([](int value) { return value + 1; });
    promise.set(0);
    EXPECT_EQ(chain.get(), kMany);
  }
}

TEST_P(FuturesOfARuntime, AMillionLinksEndWithThePromise) {
  for (Scheduler* const scheduler : {&runtime_.scheduler(), static_cast<Scheduler*>(nullptr)}) {
    auto promise = std::make_unique<Promise<int>>(scheduler);
    std::atomic<int> called{0};
    auto chain = promise->future();
    for (int link = 0; link < kMany; ++link)
      chain = chain.then([&](int value) { return value + called.fetch_add(1); });
    promise.reset();
    EXPECT_THROW(chain.get(), BrokenPromise);
    EXPECT_EQ(called, 0);
  }
}

TEST_P(FuturesOfARuntime, ThenGivesTheValueOfTheFutureThatAFunctionReturns) {
  Future<std::string> text =
      runtime_.spawn([] { return 3; })
          .then([this](int value) { return runtime_.spawn([value] { return value + 1; }); })
          .then([](int value) { return make_ready(std::to_string(value)); });
  EXPECT_EQ(text.get(), "4");
  Future<int> inner_throws = runtime_.spawn([] { return 1; }).then([this](int) {
    return runtime_.spawn([]() -> int { throw std::runtime_error("inner"); });
  });
  EXPECT_THROW(inner_throws.get(), std::runtime_error);
  Future<int> none = runtime_.spawn([] { return 1; }).then([](int) { return Future<int>(); });
  EXPECT_THROW(none.get(), FutureMisuse);
}

TEST_P(FuturesOfARuntime, ThenGivesExceptionsToFunctionsOfFutures) {
  bool is_called = false;
  auto skipped =
      runtime_.spawn([]() -> int { throw std::runtime_error("first"); }).then([&](int) { is_called = true; });
  auto text = skipped.then([](Future<void> ended) -> std::string {
    try {
      ended.get();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  });
  EXPECT_EQ(text.get(), "first");
  EXPECT_FALSE(is_called);
}

TEST_P(FuturesOfARuntime, SharedFuturesServeManyConsumers) {
  Promise<std::string> promise(&runtime_.scheduler());
  const SharedFuture<std::string> shared = promise.future().share();
  std::vector<Future<std::size_t>> lengths;
  for (int consumer = 0; consumer < 100; ++consumer) {
    const SharedFuture<std::string> copy = shared;
    lengths.push_back(consumer % 2 == 0 ? runtime_.spawn([copy] { return copy.get().size(); })
                                        : copy.then([](const std::string& text) { return text.size(); }));
  }
  promise.set("twelve bytes");
  for (auto& length : lengths) EXPECT_EQ(length.get(), 12U);
  EXPECT_EQ(shared.get(), "twelve bytes");
  EXPECT_EQ(&shared.get(), &shared.get());

  const SharedFuture<int> fails(runtime_.spawn([]() -> int { throw std::runtime_error("each time"); }));
  for (int time = 0; time < 3; ++time) EXPECT_THROW(static_cast<void>(fails.get()), std::runtime_error);
}

TEST_P(FuturesOfARuntime, WaitsEndAtTheirDeadline) {
  Promise<int> promise(&runtime_.scheduler());
  const SharedFuture<int> shared = promise.future().share();
  auto own = shared.copy();
  const auto look = [&] {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(own.wait_for(std::chrono::milliseconds(3)));
    EXPECT_FALSE(shared.wait_until(std::chrono::system_clock::now() + std::chrono::milliseconds(3)));
    EXPECT_FALSE(own.wait_for(std::chrono::seconds(-1)));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(3));
  };
  look();
  runtime_.run(look);
  EXPECT_TRUE(own.valid()) << "it may be waited for again";
  auto waiting = runtime_.spawn([&] { return own.wait_for(std::chrono::hours::max()); });
  promise.set(6);
  EXPECT_TRUE(waiting.get());
  EXPECT_TRUE(shared.wait_until(std::chrono::steady_clock::time_point::min()));
  EXPECT_EQ(own.get(), 6);
}

Future<int> add(const SharedFuture<int>& shared, int value) { co_return co_await shared + value; }

TEST_P(FuturesOfARuntime, CoroutinesAwaitSharedFutures) {
  Promise<int> promise(&runtime_.scheduler());
  const SharedFuture<int> shared(promise.future());
  auto sums = runtime_.spawn([&] {
    std::vector<Future<int>> each;
    for (int value = 0; value < 10; ++value) each.push_back(add(shared, value));
    return when_all(std::move(each));
  });
  promise.set(5);
  EXPECT_EQ(sums.get(), (std::vector<int>{5, 6, 7, 8, 9, 10, 11, 12, 13, 14}));
}

struct Tally {
  explicit Tally(std::atomic<int>& living) : living_(&living) { ++living; }
  Tally(const Tally& other) : Tally(*other.living_) {}
  Tally& operator=(const Tally&) = delete;
  ~Tally() {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // a window in which a consumer would look
    --*living_;
  }
  std::atomic<int>* living_;
};
Future<int> value_of(Runtime& runtime, Tally parameter) {
  const Tally local(parameter);
  co_await runtime.spawn([] {});
  co_return 7;
}
Future<void> nothing_of(Runtime& runtime, Tally parameter) {
  const Tally local(parameter);
  co_await runtime.spawn([] {});
}
Future<int> exception_of(Runtime& runtime, Tally parameter) {
  const Tally local(parameter);
  co_await runtime.spawn([] {});
  throw std::runtime_error("thrown");
}
Future<int> at_once(Tally parameter) {
  const Tally local(parameter);
  co_return 1;
}

TEST_P(FuturesOfARuntime, CoroutinesGiveTheirValueWhenNothingOfTheirsIsLeft) {
  std::atomic<int> living{0};
  for (int round = 0; round < 5; ++round) {
    // Called by a task, so that no parameter of this thread's lives on.
    auto value =
        runtime_.run([&] { return std::make_unique<Future<int>>(value_of(runtime_, Tally(living))); });
    EXPECT_EQ(value->get(), 7);
    EXPECT_EQ(living, 0);
    auto nothing =
        runtime_.run([&] { return std::make_unique<Future<void>>(nothing_of(runtime_, Tally(living))); });
    nothing->get();
    EXPECT_EQ(living, 0);
    auto error =
        runtime_.run([&] { return std::make_unique<Future<int>>(exception_of(runtime_, Tally(living))); });
    EXPECT_THROW(error->get(), std::runtime_error);
    EXPECT_EQ(living, 0);
    EXPECT_EQ(at_once(Tally(living)).get(), 1);
    EXPECT_EQ(living, 0);
  }
}

TEST_P(FuturesOfARuntime, ACoroutineIsNotAwaitedByTwo) {
  Promise<int> promise(&runtime_.scheduler());
  Future<int> one = promise.future();
  const auto await = [](Future<int>& which) -> Future<int> { co_return co_await which; };
  auto first = await(one);
  auto second = await(one);
  promise.set(4);
  EXPECT_EQ(first.get(), 4);
  EXPECT_THROW(second.get(), FutureMisuse);
}

Future<int> one_after_another(Runtime& runtime, int count) {
  const auto quick = []() -> Future<int> { co_return 1; };
  int sum = 0;
  for (int number = 0; number < count; ++number) {
    sum += co_await quick();
    if (number % 16 == 0) sum += co_await runtime.spawn([] { return 0; });
  }
  co_return sum;
}
TEST_P(FuturesOfARuntime, AMillionAwaitedCoroutinesInARow) {
  EXPECT_EQ(runtime_.run([&] { return one_after_another(runtime_, kMany); }), kMany);
}

Future<int> nested(int depth) {
  if (depth == 0) co_return 0;
  co_return 1 + co_await nested(depth - 1);
}
TEST_P(FuturesOfARuntime, AMillionNestedCoroutines) {
  EXPECT_EQ(runtime_.run([&] { return nested(kMany); }), kMany);
}

Future<int> waits_for(Future<int> before) { co_return 1 + co_await before; }
TEST_P(FuturesOfARuntime, AMillionCoroutinesThatWaitForEachOther) {
  Promise<int> promise(nullptr);
  auto chain = promise.future();
  for (int link = 0; link < kMany; ++link) chain = waits_for(std::move(chain));
  promise.set(0);
  EXPECT_EQ(chain.get(), kMany);
}

}  // namespace
}  // namespace weft::parcel
