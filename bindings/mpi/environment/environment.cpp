// From MPI_Init to MPI_Finalize.
#include "bindings/mpi/communicators/report.hpp"
#include "bindings/mpi/environment/environment_calls.hpp"
#include "bindings/mpi/requests/request.hpp"
#include "bindings/mpi/transport/matching.hpp"

#include <atomic>
#include <mutex>
#include <optional>

namespace weft::mpi {

namespace {

std::mutex mutex;
std::atomic<bool> has_begun{false}, has_ended{false};
int provided_level = MPI_THREAD_MULTIPLE;

/// What exists once in the process, from MPI_Init to MPI_Finalize.
struct Communicators {
  explicit Communicators(int ranks)
      : world_group(all_ranks(ranks)),
        self_group(std::vector{own_world_rank}),
        world(0, &world_group, nullptr),
        self(4, &self_group, nullptr) {
    world.name = "MPI_COMM_WORLD";
    self.name = "MPI_COMM_SELF";
    communicator_world = &world;
    communicator_self = &self;
    define(MPI_COMM_WORLD, world);
    define(MPI_COMM_SELF, self);
  }
  ~Communicators() {
    communicator_world = communicator_self = nullptr;
    predefined_objects[world.predefined] = predefined_objects[self.predefined] = nullptr;
  }
  static std::vector<int> all_ranks(int ranks) {
    std::vector<int> all(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) all[static_cast<std::size_t>(rank)] = rank;
    return all;
  }

 private:
  /// Groups of predefined communicators are not counted: programs may get and free them any number of times.
  struct Fixed : Group {
    explicit Fixed(std::vector<int> members) : Group(std::move(members)) { references.store(1 << 30); }
  };
  Fixed world_group, self_group;
  Communicator world, self;
};
std::optional<World> own_world;
std::optional<Communicators> own_communicators;

}  // namespace

void init_thread(int*, char***, int required, int* provided) {
  const std::lock_guard lock(mutex);
  if (has_begun.load()) fail(MPI_ERR_OTHER, "MPI has been initialised already");
  if (required != MPI_THREAD_SINGLE && required != MPI_THREAD_FUNNELED && required != MPI_THREAD_SERIALIZED &&
      required != MPI_THREAD_MULTIPLE)
    fail(MPI_ERR_ARG, "thread level %d is none of MPI_THREAD_SINGLE, FUNNELED, SERIALIZED and MULTIPLE",
         required);
  own_world.emplace();
  world = &*own_world;
  own_world_rank = world->runtime.rank();
  open_request_signals();
  own_communicators.emplace(world->runtime.size());
  world->runtime.barrier();
  provided_level = required;
  has_begun.store(true);
  if (provided != nullptr) *provided = required;
}

void init(int* argc, char*** argv) { init_thread(argc, argv, MPI_THREAD_SINGLE, nullptr); }
void initialized(int* flag) { *flag = has_begun.load() ? 1 : 0; }
void finalized(int* flag) { *flag = has_ended.load() ? 1 : 0; }

void finalize() {
  if (world == nullptr)
    fail(MPI_ERR_OTHER, has_ended.load() ? "MPI has been finalised already" : "MPI has not been initialised");
  // Its attributes are deleted first, while MPI still works: programs and tools clean up in their delete
  // functions.
  communicator_self->attributes.clear(MPI_COMM_SELF);
  communicator_world->attributes.clear(MPI_COMM_WORLD);
  const std::lock_guard lock(mutex);
  world->endpoint.wait_drained();
  world->runtime.barrier();
  has_ended.store(true);
  close_request_signals();
  own_communicators.reset();
  world = nullptr;
  own_world.reset();
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
