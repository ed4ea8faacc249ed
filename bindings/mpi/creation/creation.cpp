#include "bindings/mpi/creation/creation.hpp"

#include "bindings/mpi/collectives/inter.hpp"

#include <algorithm>
#include <utility>

namespace weft::mpi {

Communicator* new_communicator(const Communicator& parent, std::uint32_t context,
                               std::vector<int> world_ranks) {
  auto* const made =
      new Communicator(context, new Group(std::move(world_ranks), parent.local->session), nullptr);
  made->errhandler = retain(parent.errhandler);
  return made;
}

Communicator* copy_of_communicator(Communicator& original, std::uint32_t context) {
  auto* const made = new Communicator(context, retain(original.local), retain(original.remote));
  made->errhandler = retain(original.errhandler);
  made->local_communicator = retain(original.local_communicator);
  if (original.topology != nullptr) made->topology = original.topology->copy();
  return made;
}

namespace {

/// The first member of an intercommunicator is that of the group whose first rank is lower: both know it.
bool gives_out(const Communicator& communicator) {
  return communicator.rank == 0 &&
         (!communicator.is_inter() || communicator.local->ranks[0] < communicator.remote->ranks[0]);
}

}  // namespace

std::uint32_t agree_on_context(Communicator& communicator) {
  std::uint32_t context = gives_out(communicator) ? new_context() : 0;
  int root = 0;
  if (communicator.is_inter()) {
    const bool is_giving_side = communicator.local->ranks[0] < communicator.remote->ranks[0];
    root = is_giving_side ? (communicator.rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    run(communicator, inter_broadcast(Channel(communicator), &context, 4, byte_type, root));
    run(*communicator.local_communicator,
        broadcast(Channel(*communicator.local_communicator), &context, 4, byte_type, 0));
  } else {
    run(communicator, broadcast(Channel(communicator), &context, 4, byte_type, 0));
  }
  need_context(context);
  return context;
}

Communicator* split(Communicator& communicator, int color, int key) {
  struct Choice {
    int color, key;
    std::uint32_t context;
  };
  static_assert(sizeof(Choice) == 12);
  // Each offers a context of its own; that of the first member of each part is taken.
  Choice own{color, key, new_context()};
  std::vector<Choice> all(static_cast<std::size_t>(communicator.size));
  run(communicator, gather_to_all(Channel(communicator), &own, sizeof own, byte_type, all.data(),
                                  {{}, {}, sizeof own}, byte_type));
  for (const Choice& choice : all) need_context(choice.context);  // all fail, or none: those of no part, too
  if (color == MPI_UNDEFINED) return nullptr;
  std::vector<std::pair<int, int>> members;  // key and rank
  for (int rank = 0; rank < communicator.size; ++rank)
    if (all[static_cast<std::size_t>(rank)].color == color)
      members.emplace_back(all[static_cast<std::size_t>(rank)].key, rank);
  std::sort(members.begin(), members.end());
  std::vector<int> ranks;
  for (const auto& member : members)
    ranks.push_back(communicator.local->ranks[static_cast<std::size_t>(member.second)]);
  return new_communicator(communicator, all[static_cast<std::size_t>(members.front().second)].context,
                          std::move(ranks));
}

Channel channel_of_creation(Communicator& communicator, int tag) noexcept {
  return {communicator, communicator.context | 3,
          static_cast<int>(static_cast<std::uint32_t>(tag) | 0x80000000U)};
}

std::uint32_t agree_in_group(Communicator& communicator, const Group& group, int tag) {
  const Channel channel = channel_of_creation(communicator, tag);
  const int size = group.size(), rank = group.rank_of(own_world_rank);
  const auto rank_in_parent = [&](int member) {
    return communicator.local->rank_of(group.ranks[static_cast<std::size_t>(member)]);
  };
  std::uint32_t context = rank == 0 ? new_context() : 0;
  const auto pass_on = [&]() -> Task {
    Exchange exchange(channel);
    int mask = 1;
    for (; mask < size; mask *= 2)
      if ((rank & mask) != 0) {
        exchange.receive(&context, 4, byte_type, rank_in_parent(rank - mask));
        co_await exchange;
        break;
      }
    for (mask /= 2; mask > 0; mask /= 2)
      if (rank + mask < size) exchange.send(&context, 4, byte_type, rank_in_parent(rank + mask));
    co_await exchange;
  };
  run_apart(communicator, pass_on());
  need_context(context);
  return context;
}

}  // namespace weft::mpi
