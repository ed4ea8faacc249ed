// What the attribute mpi_check turns on, and lines about what it finds.
#pragma once

#include "bindings/mpi/communicators/communicator.hpp"
#include "bindings/mpi/objects/current_call.hpp"

#include <string>

namespace weft::mpi {

/// The attribute mpi_check, the same on all ranks; set by MPI_Init.
extern bool is_checked;

/// A call of the program: its name, and where it returns to.
struct CallSite {
  const char* call = "";
  const void* caller = nullptr;
  [[nodiscard]] static CallSite current() noexcept { return {current_call, current_caller}; }
};
/// "MPI_Irecv at halo.c:12".
[[nodiscard]] std::string described(const CallSite& site);

/// Ends the job with a line: what this call of the program is wrong about. `communicator` may be null.
[[noreturn]] [[gnu::format(printf, 4, 5), gnu::cold]] void end_with_finding(const CallSite& site,
                                                                            const Communicator* communicator,
                                                                            int code, const char* format,
                                                                            ...);

}  // namespace weft::mpi
