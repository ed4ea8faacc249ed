// Threads post receives to one bucket of one engine, while messages arrive there: none is refused while there
// are records.
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::Ranks;

constexpr int kThreads = 4;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kReceives = 500;
#else
constexpr int kReceives = 4000;
#endif

enum class Kind : std::uint8_t { unordered, ordered, wildcard, scattered };

std::string name_of_kind(const testing::TestParamInfo<Kind>& kind) {
  constexpr const char* kNames[] = {"unordered", "ordered", "wildcard", "scattered"};
  return kNames[static_cast<std::size_t>(kind.param)];
}

class ContendedReceives : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(kind, ContendedReceives,
                         testing::Values(Kind::unordered, Kind::ordered, Kind::wildcard, Kind::scattered),
                         &name_of_kind);

TEST_P(ContendedReceives, are_all_accepted) {
  const bool is_ordered = GetParam() == Kind::ordered || GetParam() == Kind::wildcard;
  const auto engine = static_cast<std::uint16_t>(is_ordered ? kMatchingEngines : 0);
  Ranks<Endpoint> ranks(2);
  MatchingEngine opened(ranks.runtime(0),
                        {.id = engine, .order = is_ordered ? MatchOrder::ordered : MatchOrder::unordered});
  MatchingEngine opened_there(
      ranks.runtime(1), {.id = engine, .order = is_ordered ? MatchOrder::ordered : MatchOrder::unordered});
  std::atomic<int> refused{0};
  std::atomic<std::uint64_t> sum{0};
  Counter ended;
  std::vector<std::uint64_t> received(kThreads * kReceives);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (int count = 0; count < kReceives; ++count) {
        const auto place = static_cast<std::size_t>(thread * kReceives + count);
        const MutableBytes buffer = std::as_writable_bytes(std::span(&received[place], 1));
        const ReceiveOptions options{.completion = &ended, .engine = engine};
        const std::array parts{buffer.first(3), buffer.subspan(3)};
        const Status status =
            GetParam() == Kind::scattered  ? ranks.endpoint(0).post_receive(1, 7, parts, options)
            : GetParam() == Kind::wildcard ? ranks.endpoint(0).post_receive(any_source, 7, buffer, options)
                                           : ranks.endpoint(0).post_receive(1, 7, buffer, options);
        if (!status.is_accepted()) ++refused;
        if (count % 16 == 0) ranks.endpoint(0).progress();
      }
    });
  for (std::uint64_t number = 1; number <= std::uint64_t{kThreads} * kReceives; ++number)
    ASSERT_TRUE(test::until(
        [&] {
          return ranks.endpoint(1)
              .post_send(0, 7, std::as_bytes(std::span(&number, 1)), {.engine = engine})
              .is_accepted();
        },
        [&] { ranks.progress(); }));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
  EXPECT_TRUE(ranks.progress_until(
      [&] { return ended.value() + static_cast<std::uint64_t>(refused) >= received.size(); }));
  for (const std::uint64_t number : received) sum += number;
  EXPECT_EQ(sum, std::uint64_t{received.size()} * (received.size() + 1) / 2);
}

}  // namespace
}  // namespace weft
