#include "bindings/mpi/environment/lifetime.hpp"

#include "bindings/mpi/communicators/communicator.hpp"
#include "bindings/mpi/communicators/known.hpp"
#include "bindings/mpi/deadlocks/stuck.hpp"
#include "bindings/mpi/environment/left_behind.hpp"
#include "bindings/mpi/explanations/waiting.hpp"
#include "bindings/mpi/requests/request.hpp"
#include "bindings/mpi/transport/matching.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <string_view>

#include <unistd.h>

namespace weft::mpi {

namespace {

/// What exists once in the process, while the library works.
struct Communicators {
  explicit Communicators(int ranks)
      : world_group(all_ranks(ranks)),
        self_group(std::vector{own_world_rank}),
        world(0, &world_group, nullptr),
        self(4, &self_group, nullptr),
        of_groups(8, &world_group, nullptr) {
    world.name = "MPI_COMM_WORLD";
    self.name = "MPI_COMM_SELF";
    of_groups.name = "a group";
    communicator_world = &world;
    communicator_self = &self;
    communicator_of_groups = &of_groups;
    define(MPI_COMM_WORLD, world);
    define(MPI_COMM_SELF, self);
  }
  ~Communicators() {
    communicator_world = communicator_self = communicator_of_groups = nullptr;
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
  Communicator world, self, of_groups;
};

std::mutex mutex;
int users = 0;  // under mutex
std::atomic<bool> begun{false}, ended{false}, refused{false};
std::optional<World> own_world;
std::optional<Communicators> own_communicators;

void join() {
  const int threads_before = threads_of_process();
  own_world.emplace();
  world = &*own_world;
  own_world_rank = world->runtime.rank();
  open_request_signals();
  own_communicators.emplace(world->runtime.size());
  is_checked = std::string_view(world->runtime.attribute("mpi_check")) == "yes";
  open_explanations();
  open_deadlocks(threads_before);
  wait_for_all_ranks();
}

void leave() {
  tell_what_is_left(is_checked ? HowMuch::all : HowMuch::what_is_cheap);
  close_deadlocks();
  close_explanations();
  close_request_signals();
  own_communicators.reset();
  // What the program still has is none of MPI's any more.
  end_communicators();
  end_requests();
  world = nullptr;
  own_world.reset();
}

void leave_at_exit() noexcept {
  const std::lock_guard lock(mutex);
  if (world == nullptr || users > 0) return;
  try {
    leave();
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "weft-mpi: rank %d could not leave the job in order: %s\n", own_world_rank,
                 exception.what());
    std::_Exit(1);
  }
}

/// A program that ends by itself without MPI_Finalize, which it should call: so do some benchmarks when they
/// have printed their figures. Its status stays its own. Not for a child that the program has forked. Runs
/// behind what the program has registered for its exit, and its destructors, which may call MPI_Finalize.
pid_t begun_by = 0;
[[gnu::destructor]] void tell_unfinalized() noexcept {
  if (::getpid() != begun_by) return;
  if (has_ended()) tell_what_is_left_at_exit();
  if (has_ended() || world == nullptr) return;
  if (!refused.load())
    std::fprintf(
        stderr,
        "weft-mpi: rank %d: the program has ended without MPI_Finalize, which each rank calls before; "
        "ranks that still need this one fail\n",
        own_world_rank);
  if (!is_checked && !refused.load()) return;
  std::fflush(nullptr);
  std::_Exit(1);
}

}  // namespace

void open_library() {
  const std::lock_guard lock(mutex);
  if (world == nullptr) join();
  ++users;
}

void close_library() {
  const std::lock_guard lock(mutex);
  if (--users > 0) {
    world->endpoint.wait_drained();
    return;
  }
  static bool leaves_at_exit = false;
  if (!ended.load() && !leaves_at_exit) leaves_at_exit = std::atexit(leave_at_exit) == 0;
  if (ended.load() || !leaves_at_exit) leave();
}

bool is_last_user() {
  const std::lock_guard lock(mutex);
  return users == 1;
}

bool has_begun() noexcept { return begun.load(); }
bool has_ended() noexcept { return ended.load(); }
void note_begin() noexcept {
  begun.store(true);
  begun_by = ::getpid();
}
void note_end() noexcept { ended.store(true); }
void note_refusal() noexcept { refused.store(true); }

}  // namespace weft::mpi
