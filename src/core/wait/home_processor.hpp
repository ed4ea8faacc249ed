// A processor for the thread that polls, so that the ranks of a host do not share one while others are free.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::core {

/// Every rank of a host has a home of its own among the processors that it may run on, while there are enough
/// of them. The kernel often starts ranks that are woken together on one processor, and takes tens of
/// milliseconds until it separates two threads that never sleep: it sees only that each of them yields. A
/// thread that goes home may run anywhere as before; nothing is bound. For the thread that has made the
/// runtime: other threads of a rank have no homes.
class HomeProcessor {
 public:
  /// Called when the calling thread has joined a job. `local_rank`: of this rank among the `count` ranks of
  /// this host. Goes where the launcher has chosen (WEFT_START_PROCESSOR); where it has not, the local rank
  /// decides among the processors that are allowed, and the thread stays where it is until it notices that it
  /// shares one.
  static void choose(std::size_t local_rank, std::size_t count) noexcept;

  /// Called when other threads have run while the calling thread yielded. Goes home, unless it is there: then
  /// it is for the other one to go. Tries less and less often while that does not help.
  static void leave_shared(std::int64_t now) noexcept;
};

}  // namespace weft::core
