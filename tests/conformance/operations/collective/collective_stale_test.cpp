// Ranks that call a reduction with different lengths: no result has bytes of an earlier one in it.
#include "conformance/operations/stream/stream_ranks.hpp"

#include <weft/collective.hpp>
#include <weft/endpoint.hpp>
#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft {
namespace {

constexpr std::uint8_t kEarlier = 200;
constexpr std::uint8_t kNow = 1;

// Rank 2 receives from rank 3, which has fewer elements, and sends its sum to rank 0.
TEST(CollectiveStale, a_sum_has_nothing_of_an_earlier_one_where_a_message_was_too_short) {
  test::run_ranks(4, {}, [](Runtime& runtime, int rank) {
    Endpoint endpoint(runtime);
    Collective collective(runtime, endpoint);
    std::vector<std::uint8_t> from(1000, kEarlier);
    std::vector<std::uint8_t> to(1000);
    EXPECT_EQ(collective.reduce(from, to, operators::Max{}, 0), Outcome::ok);
    if (rank == 0) {
      EXPECT_EQ(*std::min_element(to.begin(), to.end()), kEarlier);
    }
    std::fill(from.begin(), from.end(), kNow);
    const std::size_t size = rank == 3 ? 10 : 1000;
    std::string error;
    try {
      EXPECT_EQ(
          collective.reduce(std::span(from).first(size), std::span(to).first(size), operators::Max{}, 0),
          Outcome::ok);
    } catch (const Error& found) {
      error = found.what();
    }
    EXPECT_EQ(error.empty(), rank != 2) << error;
    if (rank == 0) {
      EXPECT_EQ(*std::max_element(to.begin(), to.end()), kNow);
    }
    runtime.barrier();
  });
}

}  // namespace
}  // namespace weft
