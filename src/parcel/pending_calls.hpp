// Calls that wait for their answers.
#pragma once

#include <weft/parcel/detail/parcel_header.hpp>

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

namespace weft::parcel {

/// A call: the future that waits, with one reference, and how its answer is read.
struct PendingCall {
  detail::FutureStateBase* state = nullptr;
  const detail::AnswerOperations* operations = nullptr;
};

/// Names calls by numbers that are not used twice, so that an answer can come once only. Any thread.
class PendingCalls {
 public:
  /// Never 0.
  [[nodiscard]] std::uint64_t add(int rank, const PendingCall& call);
  /// The call, which is no longer kept; state == nullptr: there is none of this name and rank.
  [[nodiscard]] PendingCall take(std::uint64_t name, int rank) noexcept;
  /// All calls to a rank, which are no longer kept.
  [[nodiscard]] std::vector<PendingCall> take_all(int rank);
  /// The rank that is to answer the call whose future has this state; -1: there is none. Slow.
  [[nodiscard]] int rank_of(const void* state) noexcept;

 private:
  // number in shard(24) | generation(32) | shard(8)
  static constexpr std::size_t kShards = 16;
  struct Slot {
    PendingCall call;
    int rank = -1;  // -1: free
    std::uint32_t generation = 0;
    std::uint32_t next_free = 0;
  };
  struct alignas(64) Shard {
    std::mutex mutex;
    std::vector<Slot> slots;
    std::uint32_t first_free = kNone;
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  static void free(Shard& shard, std::uint32_t index) noexcept;

  std::array<Shard, kShards> shards_;
};

}  // namespace weft::parcel
