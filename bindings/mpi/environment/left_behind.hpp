// What a program has left behind when the library ends: messages, requests, handles.
#pragma once

namespace weft::mpi {

enum class HowMuch {
  all,            // with the calls that have made what is left, and handles: with the attribute mpi_check
  what_is_cheap,  // requests under way, and messages
};
/// Waits until every message that any rank has sent has come to where it goes, and prints a line for each
/// kind of what the program has left. Returns whether there was any. Takes the messages out. All ranks call
/// it together.
bool tell_what_is_left(HowMuch how_much);

/// When the process ends, with the attribute mpi_check: what may be freed behind MPI_Finalize, and is not.
void tell_what_is_left_at_exit();

/// Tells it, and fails where there is any: for MPI_Finalize with the attribute mpi_check, on all ranks.
void refuse_what_is_left();

}  // namespace weft::mpi
