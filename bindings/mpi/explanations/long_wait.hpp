// A wait of a call of MPI that has lasted for long, in words of MPI.
#pragma once

#include "bindings/mpi/explanations/waiting.hpp"

#include <weft/wait_source.hpp>

#include <cstdint>
#include <string>

namespace weft::mpi {

struct LongWait {
  std::string what;
  detail::WaitDetail detail;
  std::string step_name;
};
[[nodiscard]] LongWait long_wait(const WaitPurpose& purpose);

/// A sequence is told apart by the context of its communicator, in which immediate collectives are counted by
/// themselves; 0 is none.
[[nodiscard]] constexpr std::uint64_t sequence_of(std::uint32_t context, int is_immediate) noexcept {
  return std::uint64_t{context} * 2 + static_cast<unsigned>(is_immediate) + 1;
}
/// The last of a communicator's collectives, or of those that return at once, as members have to call it
/// alike: "MPI_Bcast with root 0".
[[nodiscard]] std::string last_call(const Communicator& communicator, int which);

}  // namespace weft::mpi
