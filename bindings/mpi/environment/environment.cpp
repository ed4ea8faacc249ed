// From MPI_Init to MPI_Finalize.
#include "bindings/mpi/check/handles.hpp"
#include "bindings/mpi/communicators/report.hpp"
#include "bindings/mpi/environment/environment_calls.hpp"
#include "bindings/mpi/environment/lifetime.hpp"
#include "bindings/mpi/explanations/waiting.hpp"
#include "bindings/mpi/point_to_point/unmatched.hpp"
#include "bindings/mpi/requests/request.hpp"
#include "bindings/mpi/roll_call/roll_call.hpp"
#include "bindings/mpi/transport/world.hpp"

#include <cstdio>
#include <mutex>
#include <string>

namespace weft::mpi {

namespace {
std::mutex init_mutex;
int provided_level = MPI_THREAD_MULTIPLE;

/// Tells what the program has left behind, and fails where it has.
void tell_what_is_left() {
  world->endpoint.wait_drained();
  finish_roll_calls();
  wait_for_all_ranks();
  const std::string lines = leaked_requests() + unmatched_messages() + leaked_handles();
  if (!lines.empty()) std::fputs(lines.c_str(), stderr);
  wait_for_all_ranks();  // the others have told theirs before this one may end the job
  if (lines.empty()) return;
  is_checked = false;
  fail(MPI_ERR_PENDING, "the program has left behind what the lines above name (WEFT_MPI_CHECK)");
}

}  // namespace

void init_thread(int*, char***, int required, int* provided) {
  const std::lock_guard lock(init_mutex);
  if (has_begun()) fail(MPI_ERR_OTHER, "MPI has been initialised already");
  if (required != MPI_THREAD_SINGLE && required != MPI_THREAD_FUNNELED && required != MPI_THREAD_SERIALIZED &&
      required != MPI_THREAD_MULTIPLE)
    fail(MPI_ERR_ARG, "thread level %d is none of MPI_THREAD_SINGLE, FUNNELED, SERIALIZED and MULTIPLE",
         required);
  open_library();
  world->main_thread = std::this_thread::get_id();
  provided_level = required;
  note_begin();
  if (provided != nullptr) *provided = required;
}

void init(int* argc, char*** argv) { init_thread(argc, argv, MPI_THREAD_SINGLE, nullptr); }
void initialized(int* flag) { *flag = has_begun() ? 1 : 0; }
void finalized(int* flag) { *flag = has_ended() ? 1 : 0; }

void finalize() {
  if (!has_begun() || has_ended())
    fail(MPI_ERR_OTHER, has_ended() ? "MPI has been finalised already" : "MPI has not been initialised");
  // Its attributes are deleted first, while MPI still works: programs and tools clean up in their delete
  // functions.
  communicator_self->attributes.clear(MPI_COMM_SELF);
  communicator_world->attributes.clear(MPI_COMM_WORLD);
  if (is_checked) tell_what_is_left();
  const std::lock_guard lock(init_mutex);
  note_end();
  close_library();
}

void query_thread(int* provided) { *provided = provided_level; }
void is_thread_main(int* flag) {
  *flag = world != nullptr && world->main_thread == std::this_thread::get_id() ? 1 : 0;
}

void abort(Communicator& communicator, int code) {
  end_job(code, "weft-mpi: rank " + std::to_string(own_world_rank) + " called MPI_Abort on " +
                    communicator.described() + " with code " + std::to_string(code));
}

void pcontrol(int) {}

}  // namespace weft::mpi
