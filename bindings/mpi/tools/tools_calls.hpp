// The tool interface MPI_T. It is there whole, and shows nothing: weft-mpi has no variables, categories,
// events and sources. What asks for one by its index, name or handle has its answer in the table of
// functions.
#pragma once

#include <mpi.h>

namespace weft::mpi {

/// The code of a call that succeeds or fails in the same way each time: MPI_T_ERR_NOT_INITIALIZED where the
/// interface is not in use. Failures of tools reach no error handler.
[[nodiscard]] int answer_of_tools(int code) noexcept;

[[nodiscard]] int t_init_thread(int required, int* provided) noexcept;
[[nodiscard]] int t_finalize() noexcept;

[[nodiscard]] int t_category_changed(int* update_number) noexcept;
[[nodiscard]] int t_category_get_num(int* number) noexcept;
[[nodiscard]] int t_cvar_get_num(int* number) noexcept;
[[nodiscard]] int t_event_get_num(int* number) noexcept;
[[nodiscard]] int t_pvar_get_num(int* number) noexcept;
[[nodiscard]] int t_source_get_num(int* number) noexcept;

[[nodiscard]] int t_pvar_session_create(MPI_T_pvar_session* session) noexcept;
[[nodiscard]] int t_pvar_session_free(MPI_T_pvar_session* session) noexcept;
[[nodiscard]] int t_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) noexcept;
[[nodiscard]] int t_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) noexcept;
[[nodiscard]] int t_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) noexcept;

}  // namespace weft::mpi
