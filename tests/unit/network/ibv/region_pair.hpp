// Two ranks over the double of verbs that access each other's memory.
#pragma once

#include "unit/network/ibv/double_network.hpp"

#include <cstdint>
#include <vector>

namespace weft::network::ibv {

inline constexpr std::size_t kRegionBytes = 20'000;
inline constexpr std::size_t kSizes[] = {8, 300, kRegionBytes};  // inlined, copied, registered

/// Two ranks with a connection, each with a region that stays.
class RegionPair : public OverDouble {
 protected:
  struct Region {
    RegionName name;
    std::vector<std::byte> bytes;
    RegionKeys keys;
  };

  RegionPair() {
    for (const int rank : {0, 1}) {
      EXPECT_EQ(stage_.send(rank, network::test::Stage::to(1 - rank, 0), weft::test::payload(8, 0)),
                SendResult::sent);
      EXPECT_TRUE(stage_.until([&] { return stage_.notes(1 - rank).arrivals.size() == 1; }));
      regions_[rank] = add(rank, {1, 1});
    }
  }
  ~RegionPair() override {
    Fabric::instance().set({});
    for (const int rank : {0, 1}) remove(rank, regions_[rank]);
  }
  [[nodiscard]] Region add(int rank, RegionName name) {
    Region made{name, std::vector<std::byte>(kRegionBytes), {}};
    made.keys = stage_[rank].network->register_memory(name, made.bytes, false);
    EXPECT_NE(made.keys.key, 0U);
    return made;
  }
  void remove(int rank, Region& region) {
    stage_[rank].network->release_memory(region.name, region.bytes, false);
  }
  [[nodiscard]] static RemoteMemory at(const Region& region) {
    return {region.name, region.keys, kRegionBytes, 0, 0};
  }
  [[nodiscard]] AccessResult put(int rank, const Region& to, Bytes from, std::uint64_t token,
                                 const std::uint64_t* immediate = nullptr) {
    AccessResult result = AccessResult::no_slot;
    EXPECT_TRUE(stage_.until([&] {
      result = stage_.port(rank).put(1 - rank, at(to), from, immediate, token);
      return result != AccessResult::no_slot && result != AccessResult::not_ready;
    }));
    return result;
  }
  [[nodiscard]] Outcome end_of(int rank, std::uint64_t token) {
    EXPECT_TRUE(stage_.until([&] { return stage_.notes(rank).ended.contains(token); }));
    return stage_.notes(rank).ended[token];
  }

  network::test::Stage stage_{2, settings()};
  Region regions_[2];
};

}  // namespace weft::network::ibv
