#include "bindings/mpi/creation/intercommunicators.hpp"

#include "bindings/mpi/collectives/inter.hpp"
#include "bindings/mpi/communicators/communicators_calls.hpp"
#include "bindings/mpi/roll_call/roll_call.hpp"

#include <algorithm>
#include <utility>

namespace weft::mpi {

namespace {

/// A new intercommunicator; takes over the reference to `side`.
Communicator* new_intercommunicator(const Communicator& parent, std::uint32_t context, Communicator* side,
                                    std::vector<int> remote_ranks) {
  auto* const made = new Communicator(context, retain(side->local),
                                      new Group(std::move(remote_ranks), parent.local->session));
  made->errhandler = retain(parent.errhandler);
  made->local_communicator = side;
  return made;
}

/// What the members of an intercommunicator's side have said, on both sides.
struct Choice {
  int color, key;
  std::uint32_t context;
};
using Choices = std::vector<Choice>;

/// Ranks of MPI_COMM_WORLD of those of a colour, by key and rank; and the context that the first of them
/// offers.
std::pair<std::vector<int>, std::uint32_t> members_of(const Choices& choices, const Group& group, int color) {
  std::vector<std::pair<int, int>> members;
  for (int rank = 0; rank < group.size(); ++rank)
    if (choices[static_cast<std::size_t>(rank)].color == color)
      members.emplace_back(choices[static_cast<std::size_t>(rank)].key, rank);
  std::sort(members.begin(), members.end());
  std::vector<int> ranks;
  for (const auto& member : members) ranks.push_back(group.ranks[static_cast<std::size_t>(member.second)]);
  return {ranks, members.empty() ? 0 : choices[static_cast<std::size_t>(members.front().second)].context};
}

}  // namespace

Communicator* split_inter(Communicator& communicator, int color, int key) {
  Communicator& own_side = *communicator.local_communicator;
  Choice own{color, key, new_context()};
  Choices here(static_cast<std::size_t>(communicator.size)),
      there(static_cast<std::size_t>(communicator.remote->size()));
  run(own_side, gather_to_all(Channel(own_side), &own, sizeof own, byte_type, here.data(),
                              {{}, {}, sizeof own}, byte_type));
  run(communicator, inter_gather_to_all(Channel(communicator), &own, sizeof own, byte_type, there.data(),
                                        {{}, {}, sizeof own}, byte_type));
  for (const Choices* const side : {&here, &there})
    for (const Choice& choice : *side) need_context(choice.context);
  Communicator* const side = split(own_side, color, key);
  if (side == nullptr) return nullptr;
  auto [remote_ranks, remote_context] = members_of(there, *communicator.remote, color);
  if (remote_ranks.empty()) {
    release(side);
    return nullptr;
  }
  const auto own_members = members_of(here, *communicator.local, color);
  const bool is_ours = own_members.first[0] < remote_ranks[0];
  return new_intercommunicator(communicator, is_ours ? own_members.second : remote_context, side,
                               std::move(remote_ranks));
}

Communicator* create_inter(Communicator& communicator, Group& group) {
  const int place = group.rank_of(own_world_rank);
  // All that are in a group, on either side, are one part.
  return split_inter(communicator, place == MPI_UNDEFINED ? MPI_UNDEFINED : 0,
                     place == MPI_UNDEFINED ? 0 : place);
}

Communicator* connect(Communicator& local, int local_leader, Communicator* between, int remote_leader,
                      int tag) {
  // Leaders exchange their groups, and contexts, of which that of the lower first rank is taken.
  struct Head {
    int size;
    std::uint32_t context;
  } own{local.size, 0}, other{0, 0};
  std::vector<int> remote_ranks;
  if (local.rank == local_leader) {
    own.context = new_context();
    const Channel channel = channel_of_creation(*between, tag);
    const auto meet = [&]() -> Task {
      Exchange exchange(channel);
      exchange.receive(&other, sizeof other, byte_type, remote_leader);
      exchange.send(&own, sizeof own, byte_type, remote_leader);
      co_await exchange;
      remote_ranks.resize(static_cast<std::size_t>(other.size));
      exchange.receive(remote_ranks.data(), other.size, int_type, remote_leader);
      exchange.send(local.local->ranks.data(), local.size, int_type, remote_leader);
      co_await exchange;
      if (remote_ranks[0] > local.local->ranks[0]) other.context = own.context;
    };
    run_apart(*between, meet());
  }
  run(local, broadcast(Channel(local), &other, sizeof other, byte_type, local_leader));
  need_context(other.context);
  remote_ranks.resize(static_cast<std::size_t>(other.size));
  run(local, broadcast(Channel(local), remote_ranks.data(), other.size, int_type, local_leader));
  for (const int rank : remote_ranks)
    if (local.local->rank_of(rank) != MPI_UNDEFINED)
      fail(MPI_ERR_COMM, "the two groups have rank %d of MPI_COMM_WORLD in common", rank);
  Communicator* const side = copy_of_communicator(local, agree_on_context(local));
  side->topology = nullptr;
  return new_intercommunicator(local, other.context, side, std::move(remote_ranks));
}

void intercomm_create(Communicator& local, int local_leader, MPI_Comm peer, int remote_leader, int tag,
                      MPI_Comm* made) {
  if (local.is_inter()) fail(MPI_ERR_COMM, "the local communicator is an intercommunicator");
  if (local_leader < 0 || local_leader >= local.size)
    fail(MPI_ERR_RANK, "local leader %d; a rank from 0 to %d is needed", local_leader, local.size - 1);
  if (tag < 0) fail(MPI_ERR_TAG, "tag %d; 0 or more is needed", tag);
  auto* const between = find<Communicator>(peer);
  if (local.rank == local_leader) {
    if (between == nullptr) fail(MPI_ERR_COMM, "the peer communicator is MPI_COMM_NULL or none");
    if (remote_leader < 0 || remote_leader >= between->peers().size())
      fail(MPI_ERR_RANK, "remote leader %d; a rank from 0 to %d of the peer communicator is needed",
           remote_leader, between->peers().size() - 1);
  }
  call_the_roll_of_creation(local);
  *made = handle_of<MPI_Comm>(connect(local, local_leader, between, remote_leader, tag));
}

void intercomm_merge(Communicator& communicator, int high, MPI_Comm* made) {
  if (!communicator.is_inter()) fail(MPI_ERR_COMM, "the communicator is no intercommunicator");
  call_the_roll_of_creation(communicator);
  // The groups' leaders tell each other who wants to be first; where both want the same, the lower first rank
  // is.
  int wanted[2] = {high != 0 ? 1 : 0, 0};
  const Channel channel(communicator);
  const auto meet = [&]() -> Task {
    Exchange exchange(channel);
    if (communicator.rank == 0) {
      exchange.receive(&wanted[1], 1, int_type, 0);
      exchange.send(&wanted[0], 1, int_type, 0);
      co_await exchange;
    }
    co_await broadcast(channel.local(), wanted, 2, int_type, 0);
  };
  run(communicator, meet());
  const bool is_first =
      wanted[0] != wanted[1] ? wanted[0] == 0 : communicator.local->ranks[0] < communicator.remote->ranks[0];
  const std::vector<int>& first = is_first ? communicator.local->ranks : communicator.remote->ranks;
  const std::vector<int>& second = is_first ? communicator.remote->ranks : communicator.local->ranks;
  std::vector<int> ranks = first;
  ranks.insert(ranks.end(), second.begin(), second.end());
  *made =
      handle_of<MPI_Comm>(new_communicator(communicator, agree_on_context(communicator), std::move(ranks)));
}

}  // namespace weft::mpi
