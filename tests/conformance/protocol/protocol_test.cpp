// All operations at once on the simulated network, under many seeds: nothing is lost, duplicated, mismatched,
// torn or leaked, and nothing hangs.
//
//     WEFTDEV_TEST_SEED=17 build/release/bin/tests/conformance-protocol    one seed, as it was
//     WEFTDEV_NIGHTLY=1 build/release/bin/tests/conformance-protocol     10,000 seeds
#include "conformance/protocol/accesses.hpp"
#include "conformance/protocol/active_messages.hpp"
#include "conformance/protocol/atomics.hpp"
#include "conformance/protocol/matched_messages.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace weft {
namespace {

constexpr std::uint64_t kTicks = 2'000'000;  // many times what the slowest schedule takes

struct Result {
  std::string fault;
  std::string description;
  std::uint64_t schedule_hash = 0;
};

/// Packets that are in the pool of a rank.
std::size_t packets_in_pool(Device& device) {
  std::vector<Packet> taken;
  for (Packet packet = device.get_packet(); packet; packet = device.get_packet())
    taken.push_back(std::move(packet));
  return taken.size();
}

using Kinds = std::vector<std::unique_ptr<test::Traffic>>;

/// Whether every living rank has noticed the death, if there is one.
bool is_noticed(test::Job& job) {
  for (int rank = 0; rank < job.ranks() && job.has_death(); ++rank)
    if (job.is_sound(rank) && !job.has_noticed(rank)) return false;
  return true;
}

void exchange(test::Job& job, Kinds& kinds) {
  const std::uint64_t operations = 20 + job.dice.below(300);
  const auto pace = static_cast<std::uint32_t>(job.dice.one_of({5, 30, 90}));
  const auto missing = [&] {
    for (auto& kind : kinds)
      if (std::string what = kind->missing(); !what.empty()) return what;
    return std::string();
  };
  std::uint64_t begun = 0;
  for (std::uint64_t round = 0; job.fault().empty(); ++round) {
    if (begun < operations && job.dice.chance(pace)) {
      kinds[job.dice.below(kinds.size())]->begin();
      ++begun;
    }
    for (auto& kind : kinds)
      if (job.dice.chance(50)) kind->step();
    job.progress();
    if (round % 64 != 0 || begun < operations) continue;
    if (missing().empty()) break;
    if (job.simulation().now() > kTicks) job.fail("hangs: " + missing());
  }
  job.kill_victim();
  for (auto& kind : kinds) kind->settle();
  // What is still under way are answers that nobody waits for.
  const std::uint64_t end = job.simulation().now() + kTicks;
  for (int quiet = 0; quiet < 200 && job.fault().empty();) {
    job.progress_all();
    quiet = job.simulation().counters().in_flight == 0 && is_noticed(job) ? quiet + 1 : 0;
    if (job.simulation().now() > end) job.fail("hangs: messages go on and on after everything has ended");
  }
  if (job.fault().empty() && !missing().empty()) job.fail(missing());
}

void expect_nothing_leaked(test::Job& job) {
  for (int rank = 0; rank < job.ranks(); ++rank) {
    const std::size_t left = packets_in_pool(job.device(rank, 0));
    if (left != job.packets())
      job.fail("rank " + std::to_string(rank) + " has " + std::to_string(left) + " of " +
               std::to_string(job.packets()) + " packets left");
    const RuntimeCounters counters = job.runtime(rank).counters();
    if (counters.refused_handles + counters.refused_messages + counters.dropped_sends +
            counters.refused_accesses !=
        0)
      job.fail("rank " + std::to_string(rank) + " has refused or dropped something");
  }
}

void run(test::Job& job) {
  Kinds kinds;
  kinds.push_back(std::make_unique<test::ActiveMessages>(job));
  kinds.push_back(std::make_unique<test::MatchedMessages>(job));
  kinds.push_back(std::make_unique<test::Accesses>(job));
  kinds.push_back(std::make_unique<test::Atomics>(job));
  exchange(job, kinds);
  if (job.fault().empty() && !job.has_death()) expect_nothing_leaked(job);
  job.close_devices();
  for (auto& kind : kinds) kind->close();
  job.close_runtimes();
}

Result result_of(std::uint64_t seed, bool dies = false) {
  Result result;
  bool had_death = false;
  testing::internal::CaptureStderr();
  {
    test::Job job(seed, dies);
    had_death = job.has_death();
    run(job);
    result.fault = job.fault();
    result.description = job.describe();
    result.schedule_hash = job.simulation().schedule_hash();
  }
  const std::string log = testing::internal::GetCapturedStderr();
  // Receives from a rank that has died are cancelled at the end, which is reported.
  const bool is_expected = had_death && log.find("closes with operations") == std::string::npos;
  if (result.fault.empty() && !log.empty() && !is_expected) result.fault = "something was logged: " + log;
  return result;
}

void expect_no_fault(std::uint64_t first, std::uint64_t last, bool dies = false) {
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const Result result = result_of(seed, dies);
    EXPECT_EQ(result.fault, "") << "seed " << seed << ": " << result.description
                                << "\nto see it again: WEFTDEV_TEST_SEED=" << seed << " conformance-protocol";
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Protocol, keeps_its_promises_under_every_seed) {
  const char* seed = std::getenv("WEFTDEV_TEST_SEED");
  if (seed != nullptr) {
    const std::uint64_t only = std::strtoull(seed, nullptr, 10);
    return expect_no_fault(only, only);
  }
  expect_no_fault(1, 500);
}

TEST(Protocol, takes_the_same_course_under_the_same_seed) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U})
    EXPECT_EQ(result_of(seed).schedule_hash, result_of(seed).schedule_hash) << "seed " << seed;
}

bool is_soak() {
  const char* soak = std::getenv("WEFTDEV_NIGHTLY");
  return soak != nullptr && std::string(soak) == "1";
}

TEST(Protocol, keeps_its_promises_to_those_that_remain_when_a_rank_dies) {
  const char* seed = std::getenv("WEFTDEV_TEST_SEED");
  if (seed != nullptr) {
    const std::uint64_t only = std::strtoull(seed, nullptr, 10);
    return expect_no_fault(only, only, true);
  }
  expect_no_fault(1, is_soak() ? 1000 : 60, true);
}

TEST(Protocol, soak_keeps_its_promises_under_ten_thousand_seeds) {
  if (!is_soak()) GTEST_SKIP() << "10,000 seeds run with WEFTDEV_NIGHTLY=1";
  expect_no_fault(501, 10'000);
}

}  // namespace
}  // namespace weft
