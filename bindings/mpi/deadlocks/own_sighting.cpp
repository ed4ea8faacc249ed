#include "bindings/mpi/deadlocks/own_sighting.hpp"

#include "bindings/mpi/callers/place.hpp"
#include "bindings/mpi/communicators/known.hpp"
#include "bindings/mpi/deadlocks/sighting_messages.hpp"
#include "bindings/mpi/explanations/long_wait.hpp"
#include "bindings/mpi/requests/request.hpp"
#include "bindings/mpi/transport/matching.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace weft::mpi {

namespace {

template <std::size_t kSize>
void copy_text(char (&to)[kSize], const std::string& from) {
  const std::size_t length = std::min(from.size(), kSize - 1);
  std::memcpy(to, from.data(), length);
  to[length] = '\0';
}

/// What this process holds on the communicator that the wait does not take.
std::string held(const Communicator& communicator) {
  ProbedMessage found;
  if (!probe(MPI_ANY_SOURCE, communicator.context, MPI_ANY_TAG, found)) return "";
  return "; what has come there is a message from rank " +
         std::to_string(communicator.peers().rank_of(found.peer)) + " with tag " +
         std::to_string(tag_of_key(found.tag));
}

/// Ranks of MPI_COMM_WORLD are those of the job.
std::string without_there(std::string text) {
  constexpr std::string_view kThere = " there";
  if (const std::size_t at = text.find(kThere); at != std::string::npos) text.erase(at, kThere.size());
  return text;
}

void note_member(Sighting& own, int rank) {
  const auto at = static_cast<std::size_t>(rank);
  if (at / 64 < own.members.size()) own.members[at / 64] |= std::uint64_t{1} << (at % 64);
}

/// Whether such a message has come that no receive fits: of the program, or of the communicator's
/// collectives.
bool lies_here(const SendUnderWay& send) {
  ProbedMessage found;
  for (const std::uint32_t kind : {0U, 1U, 2U, 3U})
    if (probe(send.from, send.context | kind, send.tag, found)) return true;
  return false;
}

}  // namespace

Traffic traffic() {
  const RuntimeCounters counters = world->runtime.counters();
  const SightingCounts own = count_of_sightings();
  return {
      counters.active_messages_sent + counters.matched_sent + counters.large_sent - own.sent,
      counters.active_messages_received + counters.matched_received + counters.large_received - own.arrived,
      counters.control_sent, counters.control_received, counters.large_arriving_now};
}

void describe(const Wait& wait, Sighting& own) {
  const std::string place = described(place_of(wait.caller));
  const Communicator* const on = wait.purpose.communicator;
  std::string text = wait.call;
  if (on != nullptr && !wait.is_for_all) text += " on " + on->described();
  if (!place.empty()) text += " at " + place;
  own.is_for_all = wait.is_for_all ? 1 : 0;
  if (wait.is_for_all) return copy_text(own.text, text + " for all ranks");
  const LongWait what = long_wait(wait.purpose);
  own.peer = what.detail.peer;
  own.sequence = what.detail.sequence;
  own.step = what.detail.step;
  copy_text(own.step_name, what.step_name);
  if (on != nullptr && own.sequence != 0)
    for (const Group* group : {on->local, on->remote})
      for (std::size_t index = 0; group != nullptr && index < group->ranks.size(); ++index)
        note_member(own, group->ranks[index]);
  text += " for " + (on == communicator_world ? without_there(what.what) : what.what);
  using What = WaitPurpose::What;
  if (wait.purpose.what == What::receive || wait.purpose.what == What::probe) text += held(*on);
  copy_text(own.text, text);
}

void answer(Sighting& own, const Sighting& question) {
  const auto& asked = question.asked;
  own.asked = asked;
  visit_sends_under_way([&](const Request& request) {
    const int to = request.peer >= 0 ? request.communicator->peer(request.peer) : -1;
    own.sends.add({own_world_rank, to, request.communicator->context, request.tag});
  });
  for (std::uint32_t index = 0; index < std::min(question.sends.count, SendsUnderWay::kMost); ++index)
    if (const SendUnderWay& send = question.sends.sends[index]; send.to == own_world_rank && lies_here(send))
      own.unreceived |= std::uint64_t{1} << index;
  visit_communicators([&](const Communicator& communicator) {
    for (const int which : {0, 1})
      for (std::size_t index = 0; index < Sighting::kAsked; ++index) {
        if (asked[index] != sequence_of(communicator.context, which)) continue;
        own.progress[index].steps = communicator.collectives[which].load(std::memory_order_relaxed) / 2;
        own.progress[index].is_known = 1;
        copy_text(own.progress[index].last, last_call(communicator, which));
      }
  });
}

}  // namespace weft::mpi
