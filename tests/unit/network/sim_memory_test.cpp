// Puts and gets over the simulated network by itself.
#include "unit/network/sim_job.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace weft::network::sim {
namespace {

using namespace test_job;

class SimMemory : public testing::Test {
 protected:
  RemoteMemory at(std::uint64_t offset) const { return {kName, keys, 100, offset}; }
  Outcome end_of(std::uint64_t token) {
    for (int round = 0; round < 1000 && job.inbox(0).ended.count(token) == 0; ++round) job.poll_all();
    EXPECT_EQ(job.inbox(0).ended.count(token), 1U);
    return job.inbox(0).ended[token];
  }

  static constexpr RegionName kName{4, 2};
  Job job{2, {{"sim_refuse", "0"}, {"sim_immediate", "8"}}};
  std::vector<std::byte> memory = std::vector<std::byte>(100);
  RegionKeys keys = job.network(1).register_memory(kName, memory, false);
  std::vector<std::byte> local = std::vector<std::byte>(40, std::byte{7});
};

TEST_F(SimMemory, puts_end_after_their_bytes_and_announce_themselves_after_them) {
  const std::uint64_t immediate = 0x123456789abcdef0;
  bool whole = false;
  job.inbox(1).on_immediate = [&] { whole = std::equal(local.begin(), local.end(), memory.begin() + 60); };
  ASSERT_EQ(job.port(0).put(1, at(60), local, &immediate, 1), AccessResult::posted);
  EXPECT_EQ(memory[60], std::byte{0});
  EXPECT_EQ(end_of(1), Outcome::ok);
  EXPECT_TRUE(std::equal(local.begin(), local.end(), memory.begin() + 60));
  job.poll_all(100);
  EXPECT_EQ(job.inbox(1).immediates, (std::vector<std::pair<int, std::uint64_t>>{{0, immediate}}));
  EXPECT_TRUE(whole);
}

TEST_F(SimMemory, gets_read_what_is_there) {
  std::iota(reinterpret_cast<unsigned char*>(memory.data()),
            reinterpret_cast<unsigned char*>(memory.data()) + 100, static_cast<unsigned char>(0));
  ASSERT_EQ(job.port(0).get(1, at(60), local, 1), AccessResult::posted);
  EXPECT_EQ(end_of(1), Outcome::ok);
  EXPECT_TRUE(std::equal(local.begin(), local.end(), memory.begin() + 60));
}

TEST_F(SimMemory, refuses_what_is_out_of_bounds_stale_or_gone) {
  RemoteMemory stale = at(0);
  stale.region.generation = 1;
  RemoteMemory forged = at(0);
  ++forged.keys.key;
  std::uint64_t token = 0;
  for (const RemoteMemory& memory_there : {at(61), at(~std::uint64_t{0}), stale, forged}) {
    ASSERT_EQ(job.port(0).put(1, memory_there, local, nullptr, ++token), AccessResult::posted);
    EXPECT_EQ(end_of(token), Outcome::refused);
    ASSERT_EQ(job.port(0).get(1, memory_there, local, ++token), AccessResult::posted);
    EXPECT_EQ(end_of(token), Outcome::refused);
  }
  ASSERT_EQ(job.port(0).put(1, at(0), local, nullptr, ++token), AccessResult::posted);
  job.network(1).release_memory(kName, memory, false);
  EXPECT_EQ(end_of(token), Outcome::refused);
  EXPECT_EQ(memory, std::vector<std::byte>(100));
  EXPECT_EQ(local, std::vector<std::byte>(40, std::byte{7}));
}

TEST_F(SimMemory, ends_as_peer_failed_when_the_peer_dies) {
  ASSERT_EQ(job.port(0).put(1, at(0), local, nullptr, 1), AccessResult::posted);
  job.fabric->kill(1);
  EXPECT_EQ(end_of(1), Outcome::peer_failed);
  EXPECT_TRUE(job.port(0).has_left(1));
  EXPECT_EQ(job.port(0).put(1, at(0), local, nullptr, 2), AccessResult::peer_left);
}

}  // namespace
}  // namespace weft::network::sim
