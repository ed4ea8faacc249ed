// Comparisons that wait for what other members say.
#pragma once

#include <atomic>

namespace weft::mpi {

inline std::atomic<int> comparisons_under_way{0};

/// One of them, until its task is gone: also where a member has ended meanwhile, and there is nothing to
/// compare.
struct UnderWay {
  UnderWay() noexcept { comparisons_under_way.fetch_add(1, std::memory_order_relaxed); }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
  ~UnderWay() { comparisons_under_way.fetch_sub(1, std::memory_order_release); }
};

}  // namespace weft::mpi
