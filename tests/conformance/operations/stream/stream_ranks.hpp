// Ranks of one process, a thread each, that use streams.
#pragma once

#include "support/ranks.hpp"

#include <weft/stream/stream_group.hpp>
#include <weft/testing/in_process_job.hpp>

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weft::test {

/// Calls `body(runtime, rank)` in a thread for each rank; no rank ends before all have finished. What a body
/// throws fails the test.
inline void run_ranks(int count, const std::vector<AttributeSetting>& attributes,
                      const std::function<void(Runtime&, int)>& body) {
  InProcessJob job(count);
  std::vector<std::string> errors(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      try {
        Runtime runtime(job, rank, RuntimeOptions{.attributes = attributes});
        body(runtime, rank);
        runtime.barrier();
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int rank = 0; rank < count; ++rank)
    EXPECT_EQ(errors[static_cast<std::size_t>(rank)], "") << "rank " << rank;
}

}  // namespace weft::test
