#include "bindings/mpi/communicators/report.hpp"

#include "bindings/mpi/errors/classes.hpp"
#include "bindings/mpi/transport/world.hpp"

#include <cstdio>
#include <cstdlib>
#include <new>

namespace weft::mpi {

namespace {

/// Exit codes are a byte, and 0 would say that all is well.
int exit_code(int code) noexcept { return (code & 0xff) != 0 ? code & 0xff : 1; }

int report_current(const char* call, Communicator* communicator) noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    return handle_failure(call, failure.communicator != nullptr ? failure.communicator.get() : communicator,
                          failure.code, failure.text);
  } catch (const std::bad_alloc&) {
    return handle_failure(call, communicator, MPI_ERR_NO_MEM, "there is not enough memory");
  } catch (const std::exception& exception) {
    return handle_failure(call, communicator, MPI_ERR_OTHER, exception.what());
  }
}

const char* const kNotThere = "weft-mpi does not have this call yet (docs/guide/bindings/mpi.md)";

/// Files and windows have no object here yet: files return their errors by default, the others end the job.
int give_back(const char* call, int code, const std::string& text) noexcept {
  remember_failure(code, std::string(call) + ": " + text);
  return code;
}

}  // namespace

void end_job(int code, const std::string& line) noexcept {
  std::fflush(nullptr);
  if (world != nullptr) world->runtime.abort(exit_code(code), line.c_str());  // which prints the line
  std::fprintf(stderr, "%s\n", line.c_str());
  std::_Exit(exit_code(code));
}

int handle_failure(const char* call, Communicator* communicator, int code, const std::string& text) {
  Communicator* const owner = communicator != nullptr ? communicator : communicator_self;
  const std::string line = std::string(call) + ": " + text;
  remember_failure(code, line);
  const Errhandler& handler = owner != nullptr ? *owner->errhandler : errors_are_fatal;
  if (handler.action == Errhandler::Action::give_back) return code;
  if (handler.action == Errhandler::Action::call) {
    MPI_Comm handle = handle_of<MPI_Comm>(owner);
    int shown = code;
    reinterpret_cast<MPI_Comm_errhandler_function*>(handler.function)(&handle, &shown);
    return code;
  }
  const int error_class = class_of_code(code);
  const char* const name = name_of_class(error_class);
  std::string where = "weft-mpi: ";
  if (world != nullptr) where += "rank " + std::to_string(own_world_rank) + ": ";
  where += std::string(call) + (communicator != nullptr ? " on " + communicator->described() : "") + ": " +
           text + " (" + (*name != 0 ? std::string(name) : "error code " + std::to_string(code)) + ")";
  end_job(code, where);
}

int report(const char* call) noexcept { return report_current(call, nullptr); }
int report_comm(const char* call, MPI_Comm comm) noexcept {
  return report_current(call, find<Communicator>(comm));
}
int report_win(const char* call, MPI_Win) noexcept { return report_current(call, nullptr); }
int report_session(const char* call, MPI_Session) noexcept { return report_current(call, nullptr); }
int report_file(const char* call, MPI_File) noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    return give_back(call, failure.code, failure.text);
  } catch (const std::exception& exception) {
    return give_back(call, MPI_ERR_OTHER, exception.what());
  }
}

int missing(const char* call) noexcept {
  return handle_failure(call, nullptr, MPI_ERR_UNSUPPORTED_OPERATION, kNotThere);
}
int missing_comm(const char* call, MPI_Comm comm) noexcept {
  return handle_failure(call, find<Communicator>(comm), MPI_ERR_UNSUPPORTED_OPERATION, kNotThere);
}
int missing_win(const char* call, MPI_Win) noexcept { return missing(call); }
int missing_session(const char* call, MPI_Session) noexcept { return missing(call); }
int missing_file(const char* call, MPI_File) noexcept {
  return give_back(call, MPI_ERR_UNSUPPORTED_OPERATION, kNotThere);
}

}  // namespace weft::mpi
