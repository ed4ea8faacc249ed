// Jobs that cannot go on, because every rank waits in a call of MPI and no message is under way: found by the
// ranks themselves, which end the job with a line.
//
// Nothing is done for waits that last shorter than the attribute mpi_deadlock. Rank 0 is told of longer ones,
// and asks all ranks, twice, when it waits itself and each of them has told so. A rank whose program computes
// answers nothing, so that a job that is only slow is never ended.
#pragma once

#include "bindings/mpi/explanations/waiting.hpp"

#include <cstdint>

namespace weft::mpi {

/// From MPI_Init to MPI_Finalize. `threads_before`: of the process, before the library has made any.
void open_deadlocks(int threads_before);
void close_deadlocks() noexcept;

/// How many threads this process has.
[[nodiscard]] int threads_of_process();

/// A thread has waited for long, until this object is destroyed.
class StuckWait {
 public:
  /// `own_threads`: that attend to the library meanwhile.
  StuckWait(const WaitPurpose& purpose, bool is_for_all, int own_threads);
  ~StuckWait();
  StuckWait(const StuckWait&) = delete;
  StuckWait& operator=(const StuckWait&) = delete;

  /// Called again and again while it lasts; does something a few times a second.
  void look() noexcept;

 private:
  const int own_threads_;
  std::int64_t next_look_ns_ = 0;
};

/// Whether a message is one of those that ranks tell each other for it.
[[nodiscard]] bool is_of_deadlocks(std::uint32_t context, int tag) noexcept;

}  // namespace weft::mpi
