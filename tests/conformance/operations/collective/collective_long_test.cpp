// Allreduces that are waited for and too long for one message: pieces around a ring.
#include "support/collectives.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::element;
using test::elements;
using test::error_of;
using test::sums;
using Job = test::CollectiveJob;

TEST(LongAllreduces, wait_for_ranks_that_come_late) {
  // Less room than the elements need, so that nobody can send them ahead.
  const std::vector<AttributeSetting> few = {{"packets", "32"},        {"lane_slots", "64"},
                                             {"lane_slots_max", "64"}, {"backlog", "4"},
                                             {"backlog_peer", "2"},    {"held_packets", "1"}};
  for (const auto& attributes : {std::vector<AttributeSetting>{}, few}) {
    for (const int ranks : {2, 3}) {
      Job job(ranks, attributes);
      std::atomic<int> wrong{0};
      for (int late = 0; late < ranks; ++late) {
        std::atomic<int> early{0};
        job.run([&](Collective& collective, int rank) {
          const auto count = static_cast<std::size_t>(job.is_sim() ? 20'000 : 150'000);
          const auto mine = elements(rank, count, 7);
          std::vector<std::uint64_t> result(count);
          if (rank == late) {
            // The others have sent what they may, and stop.
            const bool all_wait = test::until([&] { return early == ranks - 1; },
                                              [&] { job.ranks().endpoint(rank).progress(); });
            for (int step = 0; step < 1000; ++step) job.ranks().endpoint(rank).progress();
            if (!all_wait) ++wrong;
          } else {
            ++early;
          }
          if (collective.allreduce(mine, result, operators::Sum{}) != Outcome::ok ||
              result != sums(ranks, count, 7))
            ++wrong;
        });
      }
      EXPECT_EQ(wrong, 0);
    }
  }
}

TEST(LongAllreduces, go_on_in_threads_that_progress) {
  Job job(2);
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int rank = 0; rank < 2; ++rank)
    others.emplace_back([&, rank] {
      while (!stop.load())
        if (job.ranks().endpoint(rank).progress() == 0) std::this_thread::yield();
    });
  std::atomic<int> wrong{0};
  job.run([&](Collective& collective, int rank) {
    for (std::uint64_t salt = 0; salt < 30; ++salt) {
      const std::size_t count = 4097 + 577 * salt;
      const auto mine = elements(rank, count, salt);
      std::vector<std::uint64_t> result(count);
      if (collective.allreduce(mine, result, operators::Sum{}) != Outcome::ok ||
          result != sums(2, count, salt))
        ++wrong;
    }
  });
  stop = true;
  for (std::thread& thread : others) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(LongAllreduces, take_elements_larger_than_a_packet) {
  struct Large {
    std::array<std::uint64_t, 6000> values;
  };
  Job job(2);
  std::atomic<int> wrong{0};
  job.run([&](Collective& collective, int rank) {
    std::vector<Large> mine(5);
    std::vector<Large> result(5);
    for (std::size_t index = 0; index < mine.size(); ++index)
      for (std::size_t place = 0; place < 6000; ++place)
        mine[index].values[place] = element(rank, place, index);
    const auto add = [](const Large& a, const Large& b) {
      Large sum;
      for (std::size_t place = 0; place < 6000; ++place)
        sum.values[place] = a.values[place] + b.values[place];
      return sum;
    };
    if (collective.allreduce(mine, result, add) != Outcome::ok) ++wrong;
    for (std::size_t index = 0; index < mine.size(); ++index)
      for (std::size_t place = 0; place < 6000; ++place)
        if (result[index].values[place] != element(0, place, index) + element(1, place, index)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(LongAllreduces, of_different_lengths_are_reported_by_all) {
  for (int ranks = 2; ranks <= 4; ++ranks) {
    Job job(ranks);
    std::vector<std::string> errors(static_cast<std::size_t>(ranks));
    std::atomic<int> wrong{0};
    job.run([&](Collective& collective, int rank) {
      const auto mine = elements(rank, rank == 1 ? 20'001 : 20'000, 1);
      std::vector<std::uint64_t> result(mine.size());
      errors[static_cast<std::size_t>(rank)] =
          error_of([&] { static_cast<void>(collective.allreduce(mine, result, operators::Sum{})); });
      // The context is as it was.
      const auto again = elements(rank, 20'000, 2);
      result.resize(again.size());
      if (collective.allreduce(again, result, operators::Sum{}) != Outcome::ok ||
          result != sums(collective.size(), again.size(), 2))
        ++wrong;
    });
    // Whoever has found it out tells the lengths; the others may have heard of it before they could.
    std::string all;
    for (const std::string& error : errors) {
      EXPECT_NE(error.find("allreduce: rank "), std::string::npos) << error;
      all += error + "\n";
    }
    EXPECT_NE(all.find("expects 160"), std::string::npos) << all;
    EXPECT_EQ(wrong, 0);
  }
}

}  // namespace
}  // namespace weft
