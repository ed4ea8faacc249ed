// From MPI_Init to MPI_Finalize.
#include "bindings/mpi/check/finding.hpp"
#include "bindings/mpi/communicators/report.hpp"
#include "bindings/mpi/environment/environment_calls.hpp"
#include "bindings/mpi/environment/left_behind.hpp"
#include "bindings/mpi/environment/lifetime.hpp"
#include "bindings/mpi/transport/world.hpp"

#include <mutex>
#include <string>

namespace weft::mpi {

namespace {
std::mutex init_mutex;
int provided_level = MPI_THREAD_MULTIPLE;
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
  world->is_for_one_thread =
      is_last_user() && (required == MPI_THREAD_SINGLE || required == MPI_THREAD_FUNNELED);
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
  if (is_checked && is_last_user()) refuse_what_is_left();
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
