// Puts and gets of peers' regions that have not ended.
#pragma once

#include "network/ibv/connection/reliable_connection.hpp"
#include "network/memory_of_ranks.hpp"
#include "network/session/device/access_ends.hpp"

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::network::ibv {

struct RegionAccess {
  std::uint64_t token = 0;
  Connection* messages = nullptr;  // with the device of the peer
  ibv_wr_opcode opcode{};
  std::uint32_t immediate = 0;  // of a write that brings one
  NativeAtomic change{};        // of an atomic operation
  std::uint64_t remote = 0;     // address in the peer's process
  std::uint32_t key = 0;        // of the peer
  std::byte* local = nullptr;
  RegionName region{};  // of this rank, that holds `local`; generation 0: not known
  std::size_t size = 0;
  std::byte* room = nullptr;         // unless null, the bytes are here, of a get until its end
  LocalRegistration registration{};  // of `local`, unless the bytes are in a room, or inlined

  [[nodiscard]] bool is_put() const noexcept {
    return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  }
  [[nodiscard]] bool is_atomic() const noexcept {
    return opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
  }
};

/// As many as a device may have under way. One thread at a time.
class AccessTable {
 public:
  static constexpr std::uint32_t kMost = session::AccessEnds::kMost;

  AccessTable() {
    free_.reserve(kMost);
    for (std::uint32_t index = kMost; index-- > 0;) free_.push_back(index);
  }

  /// The session has fewer than kMost under way.
  [[nodiscard]] std::uint32_t take() noexcept {
    assert(!free_.empty());
    const std::uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  [[nodiscard]] RegionAccess& operator[](std::uint64_t index) noexcept { return accesses_[index]; }
  void give_back(std::uint64_t index) noexcept {
    accesses_[index] = {};
    free_.push_back(static_cast<std::uint32_t>(index));
  }

 private:
  std::array<RegionAccess, kMost> accesses_;
  std::vector<std::uint32_t> free_;
};

}  // namespace weft::network::ibv
