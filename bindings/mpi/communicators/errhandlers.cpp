// Error handlers of communicators, and of what else has them.
#include "bindings/mpi/communicators/communicator.hpp"
#include "bindings/mpi/communicators/report.hpp"
#include "bindings/mpi/errors/errhandler_for.hpp"
#include "bindings/mpi/errors/errors_calls.hpp"

namespace weft::mpi {

namespace {

template <class Function>
MPI_Errhandler new_errhandler(Errhandler::Of of, Function* function) {
  auto* const handler = new Errhandler(Errhandler::Action::call, of);
  handler->function = reinterpret_cast<void (*)()>(function);
  return handle_of<MPI_Errhandler>(handler);
}

/// Gives an object another handler.
void replace(Errhandler*& old, Errhandler& handler) {
  Errhandler* const other = retain(&handler);
  release(old);
  old = other;
}

}  // namespace

void comm_create_errhandler(MPI_Comm_errhandler_function* function, MPI_Errhandler* handler) {
  *handler = new_errhandler(Errhandler::Of::communicator, function);
}
void win_create_errhandler(MPI_Win_errhandler_function* function, MPI_Errhandler* handler) {
  *handler = new_errhandler(Errhandler::Of::window, function);
}
void file_create_errhandler(MPI_File_errhandler_function* function, MPI_Errhandler* handler) {
  *handler = new_errhandler(Errhandler::Of::file, function);
}
void session_create_errhandler(MPI_Session_errhandler_function* function, MPI_Errhandler* handler) {
  *handler = new_errhandler(Errhandler::Of::session, function);
}

void comm_set_errhandler(Communicator& communicator, MPI_Errhandler handle) {
  replace(communicator.errhandler, errhandler_for(handle, Errhandler::Of::communicator));
}
void comm_get_errhandler(Communicator& communicator, MPI_Errhandler* handler) {
  *handler = handle_of<MPI_Errhandler>(retain(communicator.errhandler));
}
void comm_call_errhandler(Communicator& communicator, int code) {
  static_cast<void>(handle_failure("MPI_Comm_call_errhandler", &communicator, code, "called by the program"));
}

void session_set_errhandler(Session& session, MPI_Errhandler handle) {
  replace(session.errhandler, errhandler_for(handle, Errhandler::Of::session));
}
void session_get_errhandler(Session& session, MPI_Errhandler* handler) {
  *handler = handle_of<MPI_Errhandler>(retain(session.errhandler));
}
void session_call_errhandler(Session& session, int code) {
  static_cast<void>(handle_failure("MPI_Session_call_errhandler", session, code, "called by the program"));
}

void errhandler_free(MPI_Errhandler* handle) {
  auto* const handler = find<Errhandler>(*handle);
  if (handler == nullptr) fail(MPI_ERR_ERRHANDLER, "the error handler is MPI_ERRHANDLER_NULL or none");
  release(handler);
  *handle = MPI_ERRHANDLER_NULL;
}

}  // namespace weft::mpi
