#include "bindings/mpi/roll_call/roll_call.hpp"

#include "bindings/mpi/callers/place.hpp"
#include "bindings/mpi/callers/program_image.hpp"
#include "bindings/mpi/collectives/launch.hpp"
#include "bindings/mpi/roll_call/under_way.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string_view>

namespace weft::mpi {

namespace {

/// What a member says of its call; travels as it is.
struct Description {
  char call[40] = {};       // without "_c"
  char operation[40] = {};  // "" where it has none
  Amount amount;
  std::int64_t root = -1;
  std::uint32_t is_immediate = 0;
  std::uint64_t function = 0, image = 0;  // of an operation of the program, where it is the program's own
  std::uint32_t of_other_kind = 0;        // before it; immediate ones and others are counted apart
};

void copy_text(char (&to)[40], std::string_view from) noexcept {
  std::memcpy(to, from.data(), std::min(from.size(), sizeof to - 1));
}

Description description_of(const CollectiveCall& call) {
  Description mine;
  std::string_view name = current_call;
  if (name.ends_with("_c")) name.remove_suffix(2);
  copy_text(mine.call, name);
  if (call.operation != nullptr) copy_text(mine.operation, call.operation->name);
  if (call.operation != nullptr) mine.function = call.operation->identity;
  mine.image = program_image();
  mine.amount = call.amount;
  mine.root = call.root;
  return mine;
}

/// "MPI_Bcast with root 0".
std::string with(const char* call, const char* what, const std::string& value) {
  return std::string(call) + " with " + what + value;
}

std::string function_text(std::uint64_t function) {
  const auto* const address = static_cast<const char*>(address_in_program(function / 2));
  const std::string place = address != nullptr ? described(place_of(address + 1)) : "";
  return std::string(function % 2 != 0 ? "a commutative" : "a non-commutative") +
         " operation of the program" + (place.empty() ? "" : ", the function at " + place);
}

/// What two members have called differently: on this rank, and on the other one; empty: nothing. On an
/// intercommunicator a root or an amount is one side's.
std::pair<std::string, std::string> difference(const Description& mine, const Description& theirs,
                                               bool is_inter) {
  if (std::strcmp(mine.call, theirs.call) != 0) return {mine.call, theirs.call};
  if (mine.of_other_kind != theirs.of_other_kind) {
    const char* const what =
        mine.is_immediate != 0 ? "collectives that wait before it: " : "immediate collectives before it: ";
    return {with(mine.call, what, std::to_string(mine.of_other_kind)),
            with(theirs.call, what, std::to_string(theirs.of_other_kind))};
  }
  if (mine.root != theirs.root && !is_inter)
    return {with(mine.call, "root ", std::to_string(mine.root)),
            with(theirs.call, "root ", std::to_string(theirs.root))};
  if (std::strcmp(mine.operation, theirs.operation) != 0)
    return {with(mine.call, "operation ", mine.operation), with(theirs.call, "operation ", theirs.operation)};
  if (is_inter) return {};
  if (mine.function != theirs.function && mine.image == theirs.image)
    return {with(mine.call, "", function_text(mine.function)),
            with(theirs.call, "", function_text(theirs.function))};
  const MPI_Count bytes = mine.amount.bytes, their_bytes = theirs.amount.bytes;
  if (bytes != their_bytes && bytes >= 0 && their_bytes >= 0)
    return {with(mine.call, "bytes for each rank: ", std::to_string(bytes)),
            with(theirs.call, "bytes for each rank: ", std::to_string(their_bytes))};
  const auto [elements, their_elements] = different_elements(mine.amount.elements, theirs.amount.elements);
  if (elements.empty()) return {};
  return {with(mine.call, "", elements), with(theirs.call, "", their_elements)};
}

/// Whom a member tells what it calls, and whose call it compares with its own.
struct Partners {
  int to, from;
  const char* whose;  // "rank", or "remote rank"
};

Task compare(Channel channel, Partners partners, const Communicator& communicator, Description mine,
             CallSite site) {
  const UnderWay under_way;
  Description theirs;
  Exchange exchange(channel);
  exchange.receive(&theirs, sizeof theirs, byte_type, partners.from);
  exchange.send(&mine, sizeof mine, byte_type, partners.to);
  co_await exchange;
  theirs.call[sizeof theirs.call - 1] = theirs.operation[sizeof theirs.operation - 1] = '\0';
  const auto [here, there] = difference(mine, theirs, communicator.is_inter());
  if (!here.empty())
    end_with_finding(site, &communicator, MPI_ERR_OTHER,
                     "the ranks call different collectives as number %u there: this rank calls %s, %s %d "
                     "calls %s",
                     static_cast<unsigned>(channel.tag & 0x3fffffff) / 2 + 1, here.c_str(), partners.whose,
                     partners.from, there.c_str());
}

void begin_comparison(const Channel& channel, const Partners& partners, Communicator& communicator,
                      const Description& mine) {
  Request* const request = take_request(communicator);
  request->what = Request::What::work;
  request->state.store(Request::kFreed, std::memory_order_relaxed);  // nobody waits for it
  launch(compare(channel, partners, communicator, mine, CallSite::current()), *request);
}

}  // namespace

void call_the_roll(const Channel& of, const CollectiveCall& call) {
  Communicator& communicator = of.communicator;
  // Beside the collective's own messages, by a bit of the tag that numbers of collectives do not reach.
  const Channel channel(communicator, communicator.hidden_context(), (of.tag & 0x3fffffff) | 0x40000000);
  Description mine = description_of(call);
  mine.is_immediate = of.is_immediate() ? 1 : 0;
  mine.of_other_kind = communicator.collectives[1 - mine.is_immediate].load(std::memory_order_relaxed) / 2;
  const int rank = communicator.rank, size = communicator.size;
  if (communicator.is_inter() && rank == 0)
    begin_comparison(channel, {0, 0, "remote rank"}, communicator, mine);
  if (size > 1)
    begin_comparison(communicator.is_inter() ? channel.local() : channel,
                     {(rank + 1) % size, (rank + size - 1) % size, "rank"}, communicator, mine);
}

void call_the_roll_of_creation(Communicator& communicator) {
  note_call(communicator, false, number_of_kind(current_call));
  if (!is_checked) [[likely]]
    return;
  const auto next =
      static_cast<int>(communicator.collectives[0].load(std::memory_order_relaxed) & 0x7fffffff);
  call_the_roll(Channel(communicator, communicator.hidden_context(), next), {});
}

void finish_roll_calls() {
  constexpr auto kLatest = std::chrono::seconds(1);
  const auto until = std::chrono::steady_clock::now() + kLatest;
  while (comparisons_under_way.load(std::memory_order_acquire) != 0 &&
         std::chrono::steady_clock::now() < until)
    world->endpoint.progress();
}

}  // namespace weft::mpi
