// When the library works: from the first of MPI_Init and MPI_Session_init on.
#pragma once

namespace weft::mpi {

/// One more user: the first one joins the job, together with all ranks.
void open_library();
/// One user less. The last one leaves the job, which all ranks do together; where no user was MPI_Init, only
/// at the end of the process, since another session may be opened before.
void close_library();

/// Whether close_library() would leave the job now.
[[nodiscard]] bool is_last_user();

/// Whether MPI_Init and MPI_Finalize have been called.
[[nodiscard]] bool has_begun() noexcept;
[[nodiscard]] bool has_ended() noexcept;
void note_begin() noexcept;
void note_end() noexcept;
/// MPI_Finalize has refused to end in order, which the program may not take for an end: its process fails.
void note_refusal() noexcept;

}  // namespace weft::mpi
