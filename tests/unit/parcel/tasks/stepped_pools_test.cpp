// What a Stepper chooses: from all, by its seed, and by the places of its pools.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "parcel/tasks/worker_pool.hpp"

namespace weft::parcel {
namespace {

/// Notes whose turn it was.
class Turns final : public BackgroundWork {
 public:
  using Seen = std::vector<std::pair<int, unsigned>>;
  Turns(Seen& seen, int pool) : seen_(seen), pool_(pool) {}
  bool poll(unsigned slot) override {
    seen_.emplace_back(pool_, slot);
    return false;
  }
  std::uint64_t wakes() const noexcept override { return 0; }
  void park(unsigned, Timeout, std::uint64_t) override {}
  void wake() noexcept override {}

 private:
  Seen& seen_;
  const int pool_;
};

/// The turns of pools that begin in this order of their places; pool N has N + 1 workers.
Turns::Seen turns_of(const std::vector<int>& places, std::uint64_t seed, int steps) {
  Turns::Seen seen;
  Stepper stepper(seed);
  std::vector<std::unique_ptr<Turns>> turns;
  std::vector<std::unique_ptr<WorkerPool>> pools;
  for (const int place : places) {
    turns.push_back(std::make_unique<Turns>(seen, place));
    pools.push_back(std::make_unique<WorkerPool>(static_cast<unsigned>(place) + 1, std::size_t{64} << 10,
                                                 *turns.back(), nullptr, &stepper));
    pools.back()->start(place);
  }
  // The first step of a worker begins its loop.
  for (int step = 0; step < steps; ++step) stepper.step();
  for (const auto& pool : pools) pool->stop();
  const std::uint64_t digest = stepper.digest();
  stepper.step();
  EXPECT_EQ(stepper.digest(), digest) << "nobody is left to choose from";
  return seen;
}

TEST(SteppedPools, HaveTurnsByTheirPlacesInWhateverOrderTheyBegin) {
  const auto first = turns_of({0, 1, 2}, 11, 300);
  EXPECT_EQ(turns_of({2, 0, 1}, 11, 300), first);
  EXPECT_EQ(turns_of({1, 2, 0}, 11, 300), first);
  EXPECT_NE(turns_of({0, 1, 2}, 12, 300), first);
  const std::set all(first.begin(), first.end());
  EXPECT_EQ(all.size(), 1U + 2 + 3) << "all workers of all pools";
}

TEST(SteppedPools, ChooseFromAllAndNotFromMore) {
  Stepper stepper(4);
  for (const std::uint32_t choices : {1U, 2U, 3U, 7U}) {
    std::vector<int> counts(choices);
    for (int count = 0; count < 1000; ++count) {
      const std::uint32_t chosen = stepper.choose(choices);
      ASSERT_LT(chosen, choices);
      ++counts[chosen];
    }
    for (const int count : counts) EXPECT_GT(count, 1000 / static_cast<int>(choices) / 2) << choices;
  }
}

TEST(SteppedPools, HaveADigestOfTheirChoices) {
  Stepper first(4);
  Stepper same(4);
  Stepper other(5);
  std::set<std::uint64_t> digests;
  for (int count = 0; count < 50; ++count) {
    EXPECT_EQ(first.choose(4), same.choose(4));
    static_cast<void>(other.choose(4));
    EXPECT_EQ(first.digest(), same.digest());
    digests.insert(first.digest());
  }
  EXPECT_EQ(digests.size(), 50U);
  EXPECT_NE(first.digest(), other.digest());
}

TEST(SteppedPools, StepAsOftenAsWasSaid) {
  Stepper stepper(4);
  int asked = 0;
  EXPECT_FALSE(stepper.run_until([&] { return ++asked > 6; }, 5));
  EXPECT_EQ(asked, 6) << "before each step, and after the last";
  asked = 0;
  EXPECT_TRUE(stepper.run_until([&] { return ++asked > 5; }, 5));
  EXPECT_TRUE(stepper.run_until([] { return true; }, 0));
}

TEST(SteppedPools, AreThoseOfTheStepperThatIsInstalled) {
  EXPECT_EQ(Stepper::installed(), nullptr);
  Stepper other(1);
  {
    Stepper stepper(2);
    stepper.install();
    EXPECT_EQ(Stepper::installed(), &stepper);
    other.uninstall();
    EXPECT_EQ(Stepper::installed(), &stepper) << "it was not that one";
  }
  EXPECT_EQ(Stepper::installed(), nullptr);
  other.install();
  other.uninstall();
  EXPECT_EQ(Stepper::installed(), nullptr);
}

}  // namespace
}  // namespace weft::parcel
