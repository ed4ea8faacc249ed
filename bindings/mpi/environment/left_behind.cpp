#include "bindings/mpi/environment/left_behind.hpp"

#include "bindings/mpi/check/handles.hpp"
#include "bindings/mpi/environment/lifetime.hpp"
#include "bindings/mpi/explanations/waiting.hpp"
#include "bindings/mpi/partitioned/partitions.hpp"
#include "bindings/mpi/point_to_point/unmatched.hpp"
#include "bindings/mpi/requests/request.hpp"
#include "bindings/mpi/roll_call/histories.hpp"
#include "bindings/mpi/roll_call/roll_call.hpp"

#include <cstdio>
#include <string>

namespace weft::mpi {

bool tell_what_is_left(HowMuch how_much) {
  tell_histories();
  world->endpoint.wait_drained();
  // Before the others may leave the job: receives from those that have end.
  std::string lines = leaked_requests(how_much == HowMuch::all);
  wait_for_all_ranks_attentively();
  finish_roll_calls();
  end_abandoned_heads();
  const DifferentHistories different = different_histories();
  lines += different.lines + probed_messages();
  // Messages of collectives that are left are what that has brought about.
  lines += unmatched_messages(!different.is_any ? WhichMessages::all : WhichMessages::of_program);
  if (how_much == HowMuch::all) lines += leaked_handles(LeftAt::finalize);
  if (!lines.empty()) std::fputs(lines.c_str(), stderr);
  return !lines.empty();
}

void tell_what_is_left_at_exit() {
  if (!is_checked) return;
  const std::string lines = leaked_handles(LeftAt::exit);
  if (!lines.empty()) std::fputs(lines.c_str(), stderr);
}

void refuse_what_is_left() {
  const bool is_any = tell_what_is_left(HowMuch::all);
  wait_for_all_ranks();  // the others have told theirs before this one may end the job
  if (!is_any) return;
  is_checked = false;
  note_refusal();
  fail(MPI_ERR_PENDING, "the program has left behind what the lines above name (WEFT_MPI_CHECK)");
}

}  // namespace weft::mpi
