// Sessions and their process sets.
#include "bindings/mpi/check/finding.hpp"
#include "bindings/mpi/environment/left_behind.hpp"
#include "bindings/mpi/environment/lifetime.hpp"
#include "bindings/mpi/errors/errhandler_for.hpp"
#include "bindings/mpi/sessions/sessions_calls.hpp"
#include "bindings/mpi/transport/world.hpp"

#include <strings.h>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>

namespace weft::mpi {

namespace {

constexpr const char* kProcessSets[] = {"mpi://WORLD", "mpi://SELF"};

/// The ranks of MPI_COMM_WORLD in a process set. Its name is compared without regard to case, as schemes of
/// addresses are.
const std::vector<int>& members_of(const char* name) {
  if (name != nullptr && ::strcasecmp(name, kProcessSets[0]) == 0) return communicator_world->local->ranks;
  if (name != nullptr && ::strcasecmp(name, kProcessSets[1]) == 0) return communicator_self->local->ranks;
  fail(MPI_ERR_ARG, "process set '%s'; %s and %s are there", name != nullptr ? name : "(null)",
       kProcessSets[0], kProcessSets[1]);
}

}  // namespace

void session_init(Info* info, MPI_Errhandler errhandler, MPI_Session* made) {
  Errhandler& handler = errhandler_for(errhandler, Errhandler::Of::session);
  open_library();
  world->is_for_one_thread = false;
  auto* const session = new Session;
  session->errhandler = retain(&handler);
  session->info = copy_of(info);
  // The second name is that of an example in MPI 4.0, which programs have copied.
  for (const char* const key : {"thread_level", "mpi_thread_support_level"})
    session->info->set(key, "MPI_THREAD_MULTIPLE");
  *made = handle_of<MPI_Session>(session);
}

void session_finalize(MPI_Session* handle) {
  auto* const session = find<Session>(*handle);
  if (session == nullptr)
    fail(MPI_ERR_SESSION, "the session is MPI_SESSION_NULL, or has been finalised already");
  *handle = MPI_SESSION_NULL;
  release(session);
  if (is_checked && has_ended() && is_last_user()) refuse_what_is_left();
  close_library();
}

void session_get_info(Session& session, MPI_Info* info) {
  *info = handle_of<MPI_Info>(copy_of(session.info));
}

void session_get_num_psets(Session&, Info*, int* count) {
  *count = static_cast<int>(std::size(kProcessSets));
}

void session_get_nth_pset(Session&, Info*, int index, int* length, char* name) {
  if (index < 0 || index >= static_cast<int>(std::size(kProcessSets)))
    fail(MPI_ERR_ARG, "process set number %d; 0 to %d are there", index,
         static_cast<int>(std::size(kProcessSets)) - 1);
  const char* const found = kProcessSets[index];
  if (*length > 0) std::snprintf(name, static_cast<std::size_t>(*length), "%s", found);
  *length = static_cast<int>(std::strlen(found)) + 1;
}

void session_get_pset_info(Session&, const char* name, MPI_Info* info) {
  auto* const made = new Info;
  try {
    made->set("mpi_size", std::to_string(members_of(name).size()));
  } catch (...) {
    release(made);
    throw;
  }
  *info = handle_of<MPI_Info>(made);
}

void group_from_session_pset(Session& session, const char* name, MPI_Group* made) {
  *made = handle_of<MPI_Group>(new Group(members_of(name), &session));
}

}  // namespace weft::mpi
