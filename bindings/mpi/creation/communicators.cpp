// MPI_Comm_dup, MPI_Comm_split, MPI_Comm_create and their like.
#include "bindings/mpi/collectives/inter.hpp"
#include "bindings/mpi/communicators/communicators_calls.hpp"
#include "bindings/mpi/communicators/known.hpp"
#include "bindings/mpi/creation/creation.hpp"
#include "bindings/mpi/creation/intercommunicators.hpp"
#include "bindings/mpi/roll_call/roll_call.hpp"

#include <cstring>

namespace weft::mpi {

namespace {

/// Copies attributes; a communicator that cannot have them is freed again, and the handle that the program
/// gets is null.
void copy_attributes(Communicator& from, Communicator* to, MPI_Comm* made) {
  *made = MPI_COMM_NULL;
  try {
    from.attributes.copy_to(to->attributes, handle_of<MPI_Comm>(&from));
  } catch (...) {
    release(to);
    throw;
  }
}

/// The end of an immediate duplication: the context comes by a broadcast of which each step is a message.
Task receive_context(Channel channel, Communicator* made, std::uint32_t first) {
  std::uint32_t context = first;
  if (channel.communicator.is_inter()) {
    const bool gives = channel.communicator.local->ranks[0] < channel.communicator.remote->ranks[0];
    const int root = gives ? (channel.rank() == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    co_await inter_broadcast(channel, &context, 4, byte_type, root);
    if (gives) co_await broadcast(channel.local(), &context, 4, byte_type, 0);
  } else {
    co_await broadcast(channel, &context, 4, byte_type, 0);
  }
  need_context(context);
  forget_communicator(*made);
  made->context = context;
  note_communicator(*made);
}

void duplicate_later(Communicator& communicator, const Info* info, MPI_Comm* made, MPI_Request* request) {
  const bool gives = communicator.rank == 0 && (!communicator.is_inter() ||
                                                communicator.local->ranks[0] < communicator.remote->ranks[0]);
  const std::uint32_t context = gives ? new_context() : 0;
  Communicator* const copy = copy_of_communicator(communicator, context);
  copy_attributes(communicator, copy, made);
  copy->info = copy_of(info);
  *made = handle_of<MPI_Comm>(copy);
  const Channel channel(communicator, true);
  note_call(communicator, true, number_of_kind(current_call));
  if (is_checked) [[unlikely]]
    call_the_roll(channel, {});
  begin(communicator, receive_context(channel, copy, context), request);
}

}  // namespace

void comm_dup_with_info(Communicator& communicator, Info* info, MPI_Comm* made) {
  call_the_roll_of_creation(communicator);
  Communicator* const copy = copy_of_communicator(communicator, agree_on_context(communicator));
  copy_attributes(communicator, copy, made);
  copy->info = copy_of(info);
  *made = handle_of<MPI_Comm>(copy);
}
void comm_dup(Communicator& communicator, MPI_Comm* made) {
  comm_dup_with_info(communicator, communicator.info, made);
}
void comm_idup(Communicator& communicator, MPI_Comm* made, MPI_Request* request) {
  duplicate_later(communicator, communicator.info, made, request);
}
void comm_idup_with_info(Communicator& communicator, Info* info, MPI_Comm* made, MPI_Request* request) {
  duplicate_later(communicator, info, made, request);
}

void comm_split(Communicator& communicator, int color, int key, MPI_Comm* made) {
  if (color < 0 && color != MPI_UNDEFINED)
    fail(MPI_ERR_ARG, "color %d; 0 or more, or MPI_UNDEFINED is needed", color);
  call_the_roll_of_creation(communicator);
  Communicator* const part =
      communicator.is_inter() ? split_inter(communicator, color, key) : split(communicator, color, key);
  *made = part != nullptr ? handle_of<MPI_Comm>(part) : MPI_COMM_NULL;
}

void comm_split_type(Communicator& communicator, int split_type, int key, Info* info, MPI_Comm* made) {
  int color = MPI_UNDEFINED;
  if (split_type == MPI_COMM_TYPE_SHARED) {
    color = world->runtime.host_of(own_world_rank);
  } else if (split_type == MPI_COMM_TYPE_HW_GUIDED || split_type == MPI_COMM_TYPE_RESOURCE_GUIDED) {
    const std::string* const kind = info != nullptr ? info->find_value("mpi_hw_resource_type") : nullptr;
    if (kind != nullptr && *kind == "mpi_shared_memory") color = world->runtime.host_of(own_world_rank);
  } else if (split_type != MPI_UNDEFINED && split_type != MPI_COMM_TYPE_HW_UNGUIDED) {
    fail(MPI_ERR_ARG, "split type %d is none of MPI_COMM_TYPE_...", split_type);
  }
  comm_split(communicator, color, key, made);
}

void comm_create(Communicator& communicator, Group& group, MPI_Comm* made) {
  if (communicator.is_inter()) {
    call_the_roll_of_creation(communicator);
    Communicator* const part = create_inter(communicator, group);
    *made = part != nullptr ? handle_of<MPI_Comm>(part) : MPI_COMM_NULL;
    return;
  }
  for (const int rank : group.ranks)
    if (communicator.local->rank_of(rank) == MPI_UNDEFINED)
      fail(MPI_ERR_GROUP, "the group has rank %d of MPI_COMM_WORLD, which is not in the communicator", rank);
  call_the_roll_of_creation(communicator);
  const int place = group.rank_of(own_world_rank);
  // Disjoint groups may be made by one call: each is a part of a split, whose number is that of its first
  // member.
  const int color = place == MPI_UNDEFINED ? MPI_UNDEFINED : group.ranks[0];
  Communicator* const part = split(communicator, color, place == MPI_UNDEFINED ? 0 : place);
  *made = part != nullptr ? handle_of<MPI_Comm>(part) : MPI_COMM_NULL;
}

void comm_create_group(Communicator& communicator, Group& group, int tag, MPI_Comm* made) {
  if (communicator.is_inter()) fail(MPI_ERR_COMM, "an intercommunicator; an intracommunicator is needed");
  if (tag < 0) fail(MPI_ERR_TAG, "tag %d; 0 or more is needed", tag);
  *made = MPI_COMM_NULL;
  if (group.rank_of(own_world_rank) == MPI_UNDEFINED) return;
  for (const int rank : group.ranks)
    if (communicator.local->rank_of(rank) == MPI_UNDEFINED)
      fail(MPI_ERR_GROUP, "the group has rank %d of MPI_COMM_WORLD, which is not in the communicator", rank);
  *made = handle_of<MPI_Comm>(
      new_communicator(communicator, agree_in_group(communicator, group, tag), group.ranks));
}

}  // namespace weft::mpi
