#include "bindings/mpi/communicators/report.hpp"

#include "bindings/mpi/callers/place.hpp"
#include "bindings/mpi/errors/classes.hpp"
#include "bindings/mpi/objects/current_call.hpp"
#include "bindings/mpi/transport/world.hpp"

#include <cstdio>
#include <cstdlib>
#include <new>

namespace weft::mpi {

namespace {

/// Exit codes are a byte, and 0 would say that all is well.
int exit_code(int code) noexcept { return (code & 0xff) != 0 ? code & 0xff : 1; }

/// `handle(failure)` for the exception under way.
template <class Handle>
int with_current(const Handle& handle) noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    return handle(failure);
  } catch (const std::bad_alloc&) {
    return handle(Failure{MPI_ERR_NO_MEM, "there is not enough memory"});
  } catch (const std::exception& exception) {
    return handle(Failure{MPI_ERR_OTHER, exception.what()});
  }
}

bool is_fatal(const Communicator& communicator) noexcept {
  return communicator.errhandler == &errors_are_fatal;
}

/// Errors on no object are those of MPI_COMM_SELF; up to MPI 3 they were those of MPI_COMM_WORLD, and many
/// programs give a handler to this one only.
Communicator* default_owner() noexcept {
  return communicator_self != nullptr && is_fatal(*communicator_self) ? communicator_world
                                                                      : communicator_self;
}

int report_current(const char* call, Communicator* communicator) noexcept {
  return with_current([&](const Failure& failure) {
    Communicator* owner = failure.communicator != nullptr ? failure.communicator.get() : communicator;
    // Other libraries take a null pointer for a result for an error on no object, and programs may have a
    // handler for those alone.
    if (failure.is_null_result && owner != nullptr && is_fatal(*owner) && !is_fatal(*default_owner()))
      owner = nullptr;
    return handle_failure(call, owner, failure.code, failure.text);
  });
}

/// The line of an error that ends the job. `object`: " on ..." what, or nothing.
[[noreturn]] void end_with_line(const char* call, const std::string& object, int code,
                                const std::string& text) {
  const char* const name = name_of_class(class_of_code(code));
  std::string line = "weft-mpi: ";
  if (world != nullptr) line += "rank " + std::to_string(own_world_rank) + ": ";
  line += std::string(call) + object + ": " + text + " (" +
          (*name != 0 ? std::string(name) : "error code " + std::to_string(code)) + ")";
  if (const std::string place = described(place_of(current_caller)); !place.empty())
    line += ", called at " + place;
  end_job(code, line);
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
  Communicator* const owner = communicator != nullptr ? communicator : default_owner();
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
  end_with_line(call, communicator != nullptr ? " on " + communicator->described() : "", code, text);
}

int handle_failure(const char* call, Session& session, int code, const std::string& text) {
  remember_failure(code, std::string(call) + ": " + text);
  const Errhandler& handler = *session.errhandler;
  if (handler.action == Errhandler::Action::give_back) return code;
  if (handler.action == Errhandler::Action::call) {
    MPI_Session handle = handle_of<MPI_Session>(&session);
    int shown = code;
    reinterpret_cast<MPI_Session_errhandler_function*>(handler.function)(&handle, &shown);
    return code;
  }
  end_with_line(call, " on a session", code, text);
}

int report(const char* call) noexcept { return report_current(call, nullptr); }
int report_comm(const char* call, MPI_Comm comm) noexcept {
  return report_current(call, find<Communicator>(comm));
}
int report_win(const char* call, MPI_Win) noexcept { return report_current(call, nullptr); }
int report_session(const char* call, MPI_Session handle) noexcept {
  auto* const session = find<Session>(handle);
  if (session == nullptr) return report_current(call, nullptr);
  return with_current([&](const Failure& failure) {
    return failure.communicator != nullptr
               ? handle_failure(call, failure.communicator.get(), failure.code, failure.text)
               : handle_failure(call, *session, failure.code, failure.text);
  });
}
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
