// Communicators of groups, which need no communicator before them.
#include "bindings/mpi/creation/intercommunicators.hpp"
#include "bindings/mpi/errors/errhandler_for.hpp"
#include "bindings/mpi/sessions/sessions_calls.hpp"

namespace weft::mpi {

namespace {

enum class Purpose : std::uint32_t { group, sides };

/// The tag of the messages by which members agree: a hash of the text that the program has chosen, since
/// creations that go on at a time have different ones, by what they are for.
int tag_of(const char* text, Purpose purpose) {
  if (text == nullptr) fail(MPI_ERR_ARG, "the text that tells creations apart is a null pointer");
  std::uint32_t hash = 2166136261U ^ static_cast<std::uint32_t>(purpose);
  for (; *text != 0; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 16777619U;
  return static_cast<int>(hash & 0x7fffffff);
}

/// Does it, and lets the error handler of what would have been made learn of a failure.
template <class Make>
void with_errhandler(Group& group, MPI_Errhandler handle, const Make& make) {
  Errhandler& handler = errhandler_for(handle, Errhandler::Of::communicator);
  try {
    if (communicator_of_groups == nullptr)
      fail(MPI_ERR_GROUP, "the group is of no session, and MPI is not initialised");
    make(handler);
  } catch (Failure& failure) {
    auto* const unmade = new Communicator(0, retain(&group), nullptr);
    unmade->errhandler = retain(&handler);
    failure.communicator = {unmade, [](Communicator* kept) { release(kept); }};
    throw;
  }
}

void give(Communicator* made, Errhandler& handler, const Info* info, MPI_Comm* handle) {
  release(made->errhandler);
  made->errhandler = retain(&handler);
  made->info = copy_of(info);
  *handle = handle_of<MPI_Comm>(made);
}

void check_member(const Group& group) {
  if (group.rank_of(own_world_rank) == MPI_UNDEFINED)
    fail(MPI_ERR_GROUP, "this process is not in the group of %d processes", group.size());
}

Communicator* made_of(Group& group, const char* tag) {
  check_member(group);
  Communicator& all = *communicator_of_groups;
  return new Communicator(agree_in_group(all, group, tag_of(tag, Purpose::group)), retain(&group), nullptr);
}

}  // namespace

void comm_create_from_group(Group& group, const char* tag, Info* info, MPI_Errhandler errhandler,
                            MPI_Comm* made) {
  *made = MPI_COMM_NULL;
  if (group.size() == 0) return;
  with_errhandler(group, errhandler,
                  [&](Errhandler& handler) { give(made_of(group, tag), handler, info, made); });
}

void intercomm_create_from_groups(Group& local, int local_leader, MPI_Group remote_handle, int remote_leader,
                                  const char* tag, Info* info, MPI_Errhandler errhandler, MPI_Comm* made) {
  *made = MPI_COMM_NULL;
  with_errhandler(local, errhandler, [&](Errhandler& handler) {
    check_member(local);
    if (local_leader < 0 || local_leader >= local.size())
      fail(MPI_ERR_RANK, "local leader %d; a rank from 0 to %d is needed", local_leader, local.size() - 1);
    int leader_of_others = 0;  // by its rank in MPI_COMM_WORLD
    if (local.rank_of(own_world_rank) == local_leader) {
      const auto* const remote = find<Group>(remote_handle);
      if (remote == nullptr) fail(MPI_ERR_GROUP, "the remote group is MPI_GROUP_NULL or none");
      if (remote_leader < 0 || remote_leader >= remote->size())
        fail(MPI_ERR_RANK, "remote leader %d; a rank from 0 to %d is needed", remote_leader,
             remote->size() - 1);
      leader_of_others = remote->ranks[static_cast<std::size_t>(remote_leader)];
    }
    Communicator* const side = made_of(local, tag);
    const std::shared_ptr<Communicator> kept(side, [](Communicator* each) { release(each); });
    give(connect(*side, local_leader, communicator_of_groups, leader_of_others, tag_of(tag, Purpose::sides)),
         handler, info, made);
  });
}

}  // namespace weft::mpi
