#include "bindings/mpi/tools/tools_calls.hpp"

#include <atomic>

namespace weft::mpi {

namespace {

/// How many times the interface was initialised more often than finalised: it may be before MPI_Init and
/// behind MPI_Finalize.
std::atomic<int> users = 0;
/// Sessions hold nothing, so they are all alike: the address of this.
char any_session;

[[nodiscard]] MPI_T_pvar_session handle_of_session() noexcept {
  return reinterpret_cast<MPI_T_pvar_session>(&any_session);
}

[[nodiscard]] int none(int* number) noexcept {
  if (number == nullptr) return answer_of_tools(MPI_T_ERR_INVALID);
  *number = 0;
  return answer_of_tools(MPI_SUCCESS);
}

/// What is done to the handles of a session: to all of them, that is to none, or to one, which cannot be.
[[nodiscard]] int to_handles(MPI_T_pvar_session session, MPI_T_pvar_handle handle) noexcept {
  if (session != handle_of_session()) return answer_of_tools(MPI_T_ERR_INVALID_SESSION);
  return answer_of_tools(handle == MPI_T_PVAR_ALL_HANDLES ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE);
}

}  // namespace

int answer_of_tools(int code) noexcept { return users > 0 ? code : MPI_T_ERR_NOT_INITIALIZED; }

int t_init_thread(int /*required*/, int* provided) noexcept {
  if (provided == nullptr) return MPI_T_ERR_INVALID;
  ++users;
  *provided = MPI_THREAD_MULTIPLE;
  return MPI_SUCCESS;
}

int t_finalize() noexcept {
  int before = users;
  while (before > 0 && !users.compare_exchange_weak(before, before - 1)) {
  }
  return before > 0 ? MPI_SUCCESS : MPI_T_ERR_NOT_INITIALIZED;
}

int t_category_changed(int* update_number) noexcept { return none(update_number); }
int t_category_get_num(int* number) noexcept { return none(number); }
int t_cvar_get_num(int* number) noexcept { return none(number); }
int t_event_get_num(int* number) noexcept { return none(number); }
int t_pvar_get_num(int* number) noexcept { return none(number); }
int t_source_get_num(int* number) noexcept { return none(number); }

int t_pvar_session_create(MPI_T_pvar_session* session) noexcept {
  if (session == nullptr) return answer_of_tools(MPI_T_ERR_INVALID);
  *session = handle_of_session();
  return answer_of_tools(MPI_SUCCESS);
}

int t_pvar_session_free(MPI_T_pvar_session* session) noexcept {
  if (session == nullptr || *session != handle_of_session())
    return answer_of_tools(MPI_T_ERR_INVALID_SESSION);
  *session = MPI_T_PVAR_SESSION_NULL;
  return answer_of_tools(MPI_SUCCESS);
}

int t_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) noexcept {
  return to_handles(session, handle);
}
int t_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) noexcept {
  return to_handles(session, handle);
}
int t_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) noexcept {
  return to_handles(session, handle);
}

}  // namespace weft::mpi
