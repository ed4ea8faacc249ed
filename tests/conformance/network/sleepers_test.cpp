// Several threads that sleep on a port: a wake-up reaches each of those that it is for. A sleep that nobody
// ends takes long, and is told from others by what park() returns; no time is measured.
#include "conformance/network/stage.hpp"

#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

namespace weft::network::test {
namespace {

constexpr std::chrono::seconds kLong{30};
// Not needed for the outcome: threads sleep when they are woken.
constexpr std::chrono::milliseconds kToFallAsleep{3};

class Sleepers : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] static int threads() { return GetParam(); }
  /// The threads sleep on the port, each with its bits.
  void fall_asleep(Port& port, const std::vector<std::uint32_t>& bits) {
    awake_ = 0;
    woken_ = 0;
    const base::Attributes attributes = base::Attributes::load({});
    const std::string_view network = attributes.text(base::Attribute::network);
    port_naps_ = network == "mixed" || network == "ofi";
    std::atomic<int> ready{0};
    for (const std::uint32_t own : bits)
      sleepers_.emplace_back([this, &port, &ready, own] {
        const std::uint32_t token = port.park_token();
        ++ready;
        bool is_woken = port.park(token, own, kLong);
        // Two networks behind one port nap until who watches the other one has begun: its sleepers are those
        // of shared memory. Providers of libfabric without a descriptor to wait for nap, too.
        while (!is_woken && port_naps_) is_woken = port.park(token, own, kLong);
        if (is_woken) ++woken_;
        ++awake_;
      });
    while (ready != static_cast<int>(bits.size())) std::this_thread::yield();
    std::this_thread::sleep_for(kToFallAsleep);
  }
  /// All sleeps have ended, and none by its time.
  void expect_woken() {
    const int all = static_cast<int>(sleepers_.size());
    for (std::thread& sleeper : sleepers_) sleeper.join();
    sleepers_.clear();
    EXPECT_EQ(woken_, all) << "a sleep ended by its time";
  }
  bool port_naps_ = false;
  std::atomic<int> awake_{0};
  std::atomic<int> woken_{0};
  std::vector<std::thread> sleepers_;
};
INSTANTIATE_TEST_SUITE_P(threads, Sleepers, testing::Values(1, 2, 3, 4),
                         [](const auto& threads) { return std::to_string(threads.param); });

TEST_P(Sleepers, are_all_woken_by_all_bits) {
  Stage stage(1, {{"peer_timeout", "3600"}});
  for (int round = 0; round < 5; ++round) {
    std::vector<std::uint32_t> bits;
    for (int thread = 0; thread < threads(); ++thread) bits.push_back(1U << (7 * thread + round));
    fall_asleep(stage.port(0), bits);
    stage.port(0).wake(~std::uint32_t{0});
    expect_woken();
  }
}

TEST_P(Sleepers, are_all_woken_by_a_bit_that_they_share) {
  Stage stage(1, {{"peer_timeout", "3600"}});
  for (int round = 0; round < 5; ++round) {
    std::vector<std::uint32_t> bits;
    for (int thread = 0; thread < threads(); ++thread) bits.push_back(1U << thread | 1U << 31);
    fall_asleep(stage.port(0), bits);
    stage.port(0).wake(1U << 31);
    expect_woken();
  }
}

TEST_P(Sleepers, are_woken_by_their_own_bit_one_after_the_other) {
  Stage stage(1, {{"peer_timeout", "3600"}});
  for (int round = 0; round < 5; ++round) {
    std::vector<std::uint32_t> bits;
    for (int thread = 0; thread < threads(); ++thread) bits.push_back(1U << thread);
    fall_asleep(stage.port(0), bits);
    // Others may wake as well, and the last one first.
    for (int thread = threads(); thread-- > 0;) stage.port(0).wake(1U << thread);
    expect_woken();
  }
}

TEST_P(Sleepers, that_have_not_fallen_asleep_yet_return_at_once) {
  Stage stage(1, {{"peer_timeout", "3600"}});
  const std::uint32_t token = stage.port(0).park_token();
  stage.port(0).wake(1);
  std::atomic<int> woken{0};
  for (int thread = 0; thread < threads(); ++thread)
    sleepers_.emplace_back([&] { woken += stage.port(0).park(token, 2, kLong) ? 1 : 0; });
  for (std::thread& sleeper : sleepers_) sleeper.join();
  sleepers_.clear();
  EXPECT_EQ(woken, threads());
}

TEST_P(Sleepers, end_by_their_time_where_nobody_wakes_them) {
  Stage stage(1, {{"peer_timeout", "3600"}});
  std::atomic<int> timed_out{0};
  for (int thread = 0; thread < threads(); ++thread)
    sleepers_.emplace_back([&] {
      // A network may end a sleep for reasons of its own, but not for ever.
      while (stage.port(0).park(stage.port(0).park_token(), 1, std::chrono::microseconds(200))) {
      }
      ++timed_out;
    });
  for (std::thread& sleeper : sleepers_) sleeper.join();
  sleepers_.clear();
  EXPECT_EQ(timed_out, threads());
}

}  // namespace
}  // namespace weft::network::test
