// Matching contexts that ranks agree on: all of a job, or some.
#include <weft/testing/in_process_job.hpp>

#include "support/errors.hpp"
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::error_of;
using test::expect_names;

TEST(AgreedContexts, of_all_ranks_or_of_some_are_the_same_on_their_members_only) {
  constexpr int kRanks = 5;
  InProcessJob job(kRanks);
  std::vector<std::string> errors(kRanks);
  std::vector<std::thread> threads;
  std::array<std::uint32_t, kRanks> of_all{};
  std::array<std::uint32_t, kRanks> of_odd{};
  std::array<std::uint32_t, kRanks> of_four{};
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      const auto place = static_cast<std::size_t>(rank);
      try {
        Runtime runtime(job, rank);
        Endpoint endpoint(runtime);
        MatchingContext all(runtime);
        of_all[place] = all.number();
        const std::array<int, 2> odd{3, 1};
        const std::array<int, 4> four{4, 0, 2, 1};
        std::optional<MatchingContext> in_odd;
        std::optional<MatchingContext> in_four;
        if (rank % 2 == 1) in_odd.emplace(runtime, endpoint, odd);
        if (rank != 3) in_four.emplace(runtime, endpoint, four, MatchingContextOptions{.count = 9});
        if (in_odd) of_odd[place] = in_odd->number();
        if (in_four) of_four[place] = in_four->number();
        // A message round the four, before any rank knows whether the others have theirs.
        if (in_four) {
          const int position = rank == 4 ? 0 : rank == 0 ? 1 : rank == 2 ? 2 : 3;
          std::uint64_t value = 0;
          if (position != 0)
            value = endpoint
                        .receive(four[static_cast<std::size_t>(position - 1)], in_four->tag(1, 8),
                                 mutable_bytes_of(value))
                        .as<std::uint64_t>();
          ++value;
          if (position != 3)
            static_cast<void>(endpoint.send(four[static_cast<std::size_t>(position + 1)], in_four->tag(1, 8),
                                            bytes_of(value)));
          EXPECT_EQ(value, static_cast<std::uint64_t>(position) + 1);
        }
        runtime.barrier();
      } catch (const std::exception& error) {
        errors[place] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  for (int rank = 1; rank < kRanks; ++rank) EXPECT_EQ(of_all[static_cast<std::size_t>(rank)], of_all[0]);
  EXPECT_EQ(of_odd[1], of_odd[3]);
  EXPECT_EQ(of_four[0], of_four[4]);
  EXPECT_EQ(of_four[1], of_four[4]);
  EXPECT_EQ(of_four[2], of_four[4]);
  EXPECT_EQ(std::set<std::uint32_t>({of_all[0], of_odd[1], of_four[0]}).size(), 3U);
}

TEST(AgreedContexts, that_cannot_be_made_are_refused_on_every_member) {
  constexpr int kRanks = 3;
  InProcessJob job(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      Runtime runtime(job, rank);
      Endpoint endpoint(runtime);
      const std::array<int, 3> all{1, 0, 2};
      const std::uint32_t too_many = (std::uint32_t{1} << 24) + 1;
      // Over an endpoint and among all ranks: too many, and not the same.
      std::string text =
          error_of([&] { MatchingContext context(runtime, endpoint, all, {.count = too_many}); });
      expect_names(text, {"rank 1, the first member", "16777217"});
      text = error_of([&] {
        MatchingContext context(runtime, endpoint, all, {.count = rank == 2 ? 5U : 4U, .agreement = 3});
      });
      if (rank == 2)
        expect_names(text, {"a count of 5", "rank 1", "one of 4"});
      else
        EXPECT_EQ(text, "no error");
      text = error_of([&] { MatchingContext context(runtime, {.count = too_many}); });
      if (rank == 0)
        expect_names(text, {"count 16777217 is out of range"});
      else
        expect_names(text, {"rank 0 has refused"});
      text = error_of([&] { MatchingContext context(runtime, {.count = rank == 1 ? 2U : 1U}); });
      expect_names(text, {"rank 1", "count 2", "rank 0"});
      const MatchingContext works(runtime);
      runtime.barrier();
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weft
