// Communicators: a group, or two, and the context in which their messages match.
#pragma once

#include "bindings/mpi/attributes/attributes.hpp"
#include "bindings/mpi/call_history/call_history.hpp"
#include "bindings/mpi/errors/failure.hpp"
#include "bindings/mpi/groups/group.hpp"
#include "bindings/mpi/info/info.hpp"
#include "bindings/mpi/objects/object.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace weft::mpi {

/// A virtual topology (topologies/topology.hpp).
struct Topology {
  virtual ~Topology() = default;
  [[nodiscard]] virtual int kind() const noexcept = 0;  // MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH
  [[nodiscard]] virtual std::unique_ptr<Topology> copy() const = 0;
};

struct Communicator : Object {
  static constexpr Kind kKind = Kind::communicator;
  /// Takes over a reference to each group; `remote` is null unless it is an intercommunicator.
  Communicator(std::uint32_t own_context, Group* own_group, Group* other_group);
  ~Communicator();

  /// Where messages go to, and come from: ranks of MPI_COMM_WORLD by rank here.
  [[nodiscard]] const Group& peers() const noexcept { return *(remote != nullptr ? remote : local); }
  [[nodiscard]] int peer(int rank_of_peer) const noexcept {
    return peers().ranks[static_cast<std::size_t>(rank_of_peer)];
  }
  [[nodiscard]] bool is_inter() const noexcept { return remote != nullptr; }
  /// Whether a collective with this root gathers to this rank, or scatters from it.
  [[nodiscard]] bool is_root(int root) const noexcept { return root == (is_inter() ? MPI_ROOT : rank); }
  /// The context of collectives, whose messages no receive of the program matches.
  [[nodiscard]] std::uint32_t hidden_context() const noexcept { return context | 1; }
  /// The tag of the next collective, the same on all members. Immediate ones are counted by themselves: so
  /// programs work that begin one before a collective on some ranks and behind it on others.
  [[nodiscard]] int next_collective(bool is_immediate) noexcept {
    const int which = static_cast<int>(is_immediate);
    return static_cast<int>(collectives[which].fetch_add(2, std::memory_order_relaxed) & 0x7fffffff) + which;
  }
  /// Its name for a line about an error.
  [[nodiscard]] std::string described() const;

  std::uint32_t context;
  Group* const local;
  Group* const remote;
  int rank;                                     // of this process in the local group
  int size;                                     // of the local group
  std::atomic<std::uint32_t> collectives[2]{};  // twice those that do not return at once, and that do
  std::atomic<const char*> last_collective[2] = {"", ""};  // the calls, for explanations
  std::atomic<int> last_root[2] = {CallHistory::kNoRoot, CallHistory::kNoRoot};  // of these
  std::atomic<int> immediate_under_way{0};                                       // immediate collectives
  CallHistory history;                                                           // of the program's calls
  Errhandler* errhandler = &errors_are_fatal;                                    // retained
  Info* info = nullptr;  // retained; what was given to it
  std::string name;
  Attributes attributes{KeyvalOf::communicator};
  std::unique_ptr<Topology> topology;
  Communicator* local_communicator = nullptr;  // of an intercommunicator: its own side; retained
  std::shared_ptr<SendBuffer> send_buffer;     // null unless one is attached
};

/// MPI_COMM_WORLD and MPI_COMM_SELF; null before MPI_Init.
extern Communicator* communicator_world;
extern Communicator* communicator_self;
/// All ranks once more: over it those agree that make a communicator of a group.
extern Communicator* communicator_of_groups;

/// Contexts are numbers that their communicator's first member has given out: unique, since the rank is a
/// part. The two lowest bits are for messages of the program (0), collectives (1), collectives of
/// neighbours (2), and those of an intercommunicator's own side (3); with tags of bit 31, for what announces
/// partitioned messages (2) and for the making of communicators (3).
inline constexpr std::uint32_t kPartitionedContext = std::uint32_t{1} << 31;  // not of communicators
/// How many communicators a process may have when it gives out a context: a program that never frees them
/// gets an error while there is memory.
inline constexpr std::size_t kMostCommunicators = 16384;
/// What a member gives out that has too many. The context of MPI_COMM_WORLD, which is never given out.
inline constexpr std::uint32_t kNoContext = 0;
[[nodiscard]] std::uint32_t new_context();
/// Fails where a member had none to give: on all members, which have got the same one.
void need_context(std::uint32_t context);

}  // namespace weft::mpi
