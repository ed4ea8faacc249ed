// What happens to a failure that leaves the library.
#pragma once

#include "bindings/mpi/communicators/communicator.hpp"

#include <string>

namespace weft::mpi {

/// Does what the error handler of the communicator says, that of MPI_COMM_SELF, or of MPI_COMM_WORLD
/// where that one has none, where it is null: prints one
/// line and ends the job, calls a function of the program, or returns. Returns the code for the caller.
int handle_failure(const char* call, Communicator* communicator, int code, const std::string& text);

/// The same with the error handler of a session.
int handle_failure(const char* call, Session& session, int code, const std::string& text);

/// For the catch (...) of an entry point: the exception under way, on a communicator, or on no object.
[[gnu::cold]] int report(const char* call) noexcept;
[[gnu::cold]] int report_comm(const char* call, MPI_Comm comm) noexcept;
[[gnu::cold]] int report_win(const char* call, MPI_Win win) noexcept;
[[gnu::cold]] int report_file(const char* call, MPI_File file) noexcept;
[[gnu::cold]] int report_session(const char* call, MPI_Session session) noexcept;

/// For calls that weft-mpi does not have: MPI_ERR_UNSUPPORTED_OPERATION.
[[gnu::cold]] int missing(const char* call) noexcept;
[[gnu::cold]] int missing_comm(const char* call, MPI_Comm comm) noexcept;
[[gnu::cold]] int missing_win(const char* call, MPI_Win win) noexcept;
[[gnu::cold]] int missing_file(const char* call, MPI_File file) noexcept;
[[gnu::cold]] int missing_session(const char* call, MPI_Session session) noexcept;

/// Ends the job with a line: the runtime's way where there is one, else this process.
[[noreturn]] void end_job(int code, const std::string& line) noexcept;

}  // namespace weft::mpi
