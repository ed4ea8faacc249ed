// Threads that park: whatever another thread did before it could see them is seen before they sleep.
#include "support/ranks.hpp"
#include "unit/barriers/barrier_watch.hpp"

#include <weft/completion/completion.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace weft {
namespace {

using test::BarrierOf;
using test::BarrierWatch;
using test::Ranks;

/// Set by a thread that has looked for parked threads before, and found none: it wakes nobody.
class Flag final : public Completion {
 public:
  ~Flag() override { withdraw(); }
  void signal(Message&) noexcept override { set(); }
  [[nodiscard]] bool ready() const noexcept override { return is_set_.load(); }
  void set() noexcept { is_set_.store(true); }

 private:
  std::atomic<bool> is_set_{false};
};

class WaitingThreads : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(on, WaitingThreads, testing::Values("shm", "sim", "tcp", "mixed"),
                         [](const auto& network) { return std::string(network.param); });

TEST_P(WaitingThreads, see_what_was_signalled_before_they_could_be_seen) {
  Ranks<Endpoint> ranks(2, test::with_no_surprises({{"network", GetParam()},
                                                    {"remote_network", "tcp"},
                                                    {"spin", "0"},
                                                    {"yield", "0"},
                                                    {"park_timeout", "60"},
                                                    {"peer_timeout", "3600"}}));
  ASSERT_TRUE(ranks.meet());
  for (int round = 0; round < 3; ++round) {
    Flag flag;
    const auto own = std::this_thread::get_id();
    int seen = 0;
    const BarrierWatch watch([&](BarrierOf) {
      // Barriers of other threads, and those before this thread can be found, are not meant.
      if (std::this_thread::get_id() != own || detail::parked_list(&flag).load() == nullptr) return;
      if (++seen == 1) flag.set();
    });
    // The limit is a guard: where the barrier is missing, nobody ever sets the flag.
    EXPECT_TRUE(ranks.endpoint(0).wait_for(flag, Timeout(std::chrono::seconds(5))));
    EXPECT_EQ(seen, 1) << "a thread parked without a barrier behind its entry in the list";
  }
  EXPECT_EQ(ranks.runtime(0).counters().parks_timed_out, 0U);
}

}  // namespace
}  // namespace weft
