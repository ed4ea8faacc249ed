#include "bindings/mpi/roll_call/histories.hpp"

#include "bindings/mpi/callers/place.hpp"
#include "bindings/mpi/callers/program_image.hpp"
#include "bindings/mpi/check/finding.hpp"
#include "bindings/mpi/communicators/known.hpp"
#include "bindings/mpi/operations/operation.hpp"
#include "bindings/mpi/requests/start.hpp"
#include "bindings/mpi/roll_call/roll_call.hpp"
#include "bindings/mpi/transport/matching.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

namespace weft::mpi {

namespace {

/// In the context of collectives, whose own tags are lower.
constexpr int kTag = static_cast<int>(0x80000000U);
/// Communicators of which a rank tells at the end. Who has heard nothing compares nothing.
constexpr std::size_t kMostTold = 256;

/// What a member says of its calls; travels as it is. Addresses of callers are offsets in the program's
/// image.
struct Told {
  struct Call {
    std::uint64_t hash = 0, caller = 0;
    char what[112] = {};
  };
  std::uint64_t count = 0, image = 0;
  Call calls[CallHistory::kKept];

  [[nodiscard]] const Call& call(std::uint64_t number) const noexcept {
    return calls[(number - 1) % CallHistory::kKept];
  }
  [[nodiscard]] std::uint64_t oldest() const noexcept {
    return count > CallHistory::kKept ? count - CallHistory::kKept + 1 : 1;
  }
};

/// "MPI_Reduce with root 0 and operation MPI_SUM".
void describe(const CallHistory::Call& call, char* text, std::size_t size) {
  char root[32] = "", operation[64] = "";
  const bool has_root = call.root != CallHistory::kNoRoot;
  if (has_root) {
    const char* const special = call.root == MPI_ROOT ? "MPI_ROOT" : "MPI_PROC_NULL";
    if (call.root >= 0)
      std::snprintf(root, sizeof root, " with root %d", call.root);
    else
      std::snprintf(root, sizeof root, " with root %s", special);
  }
  if (call.operation != 0) {
    const auto* const predefined =
        call.operation == kOperationOfProgram
            ? nullptr
            : find<Reduction>(reinterpret_cast<MPI_Op>(static_cast<std::uintptr_t>(call.operation)));
    std::snprintf(operation, sizeof operation, " %s %s", has_root ? "and" : "with",
                  predefined != nullptr ? predefined->name : "an operation of the program");
  }
  const char* const values = call.values == CallHistory::Values::floating_point ? " of floating point numbers"
                             : call.values == CallHistory::Values::complex      ? " of complex numbers"
                                                                                : "";
  std::snprintf(text, size, "%s%s%s%s", call.name, root, operation, values);
}

Told told_of(const CallHistory& history) {
  Told told;
  told.count = history.count();
  told.image = program_image();
  for (std::uint64_t number = told.oldest(); number <= told.count; ++number) {
    const CallHistory::Call& call = history.call(number);
    Told::Call& to = told.calls[(number - 1) % CallHistory::kKept];
    to.hash = call.hash;
    to.caller = offset_in_program(call.caller);
    describe(call, to.what, sizeof to.what);
  }
  return told;
}

std::string described(const Told& told, std::uint64_t number) {
  const Told::Call& call = told.call(number);
  const void* const caller = told.image == program_image() ? address_in_program(call.caller) : nullptr;
  const std::string place = caller != nullptr ? described(place_of(caller)) : "";
  return std::string(call.what) + (place.empty() ? "" : " at " + place);
}

std::string counted(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " collective" : " collectives");
}

/// What this rank and another one have called differently; empty: nothing.
std::string different_call(const Told& mine, const Told& theirs, int rank) {
  const std::uint64_t oldest = std::max(mine.oldest(), theirs.oldest());
  const std::uint64_t both = std::min(mine.count, theirs.count);
  const std::string other = "rank " + std::to_string(rank);
  for (std::uint64_t number = oldest; number <= both; ++number) {
    if (mine.call(number).hash == theirs.call(number).hash) continue;
    if (number == oldest && number > 1)
      return "the first time among the first " + std::to_string(number) + " of them";
    return "as number " + std::to_string(number) + " there this rank calls " + described(mine, number) +
           ", " + other + " calls " + described(theirs, number);
  }
  if (mine.count == theirs.count) return "";
  const Told& longer = mine.count > theirs.count ? mine : theirs;
  const bool is_mine = &longer == &mine;
  std::string line = "this rank calls " + counted(mine.count) + " there, " + other + " calls " +
                     std::to_string(theirs.count);
  if (oldest <= both + 1)
    line += "; number " + std::to_string(both + 1) + ", which " + (is_mine ? other : "this rank") +
            " does not call, is " + described(longer, both + 1);
  return line;
}

struct Sent final : RequestOwner {
  void finish(Request& request) noexcept override { give_request(&request); }
};
Sent sent;

/// Each communicator's messages live until they have been sent, which this rank waits for.
std::vector<KnownHistory> histories;
std::vector<Told> told_by_this_rank;

/// A rank that has no room for the message is told nothing: the program's own messages fill it. One that this
/// rank has never met is waited for, which comes to MPI_Finalize as well: to leave while they get to know
/// each other looks to it like a failure.
void post(int rank, std::uint32_t context, const Told& told, std::chrono::steady_clock::time_point until) {
  constexpr int kTries = 1000;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(&told, 1));
  for (int attempt = 0; attempt < kTries;) {
    Request* const request = take_request(*communicator_world);
    request->what = Request::What::send;
    request->owner = &sent;
    const Status status = world->endpoint.post_send(rank, key_of(context | 1, kTag), bytes,
                                                    {.completion = &request_signals(),
                                                     .user_data = request,
                                                     .engine = kEngine,
                                                     .may_complete_now = true});
    if (!status.is_posted()) give_request(request);
    if (!status.is_retry()) return;
    world->endpoint.progress();
    if (status.reason() != Reason::not_ready)
      ++attempt;
    else if (std::chrono::steady_clock::now() > until)
      return;
    else
      std::this_thread::yield();
  }
}

[[nodiscard]] bool receive(int rank, std::uint32_t context, Told& told) {
  MatchedMessage message = matched_probe(rank, context | 1, kTag);
  if (!message || message.info().length != sizeof told) return false;
  Request* const request = take_request(*communicator_world);
  request->what = Request::What::receive;
  request->peer = rank;
  ReceiveOptions options = receive_options(0);
  options.completion = &request_signals();
  options.user_data = request;
  static_cast<void>(
      world->endpoint.post_receive(std::move(message), std::as_writable_bytes(std::span(&told, 1)), options));
  wait_done(*request);
  const bool has_come = request->status.MPI_ERROR == MPI_SUCCESS;
  give_request(request);
  for (Told::Call& call : told.calls) call.what[sizeof call.what - 1] = '\0';
  return has_come;
}

}  // namespace

void tell_histories() {
  histories = known_histories(kMostTold);
  told_by_this_rank.clear();
  for (const KnownHistory& known : histories) told_by_this_rank.push_back(told_of(known.history));
  constexpr std::chrono::seconds kPatience{10};
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (std::size_t index = 0; index < histories.size(); ++index)
    if (histories[index].behind >= 0)
      post(histories[index].behind, histories[index].context, told_by_this_rank[index], until);
}

std::string different_histories() {
  std::string lines;
  world->endpoint.progress();
  for (std::size_t index = 0; index < histories.size(); ++index) {
    const KnownHistory& known = histories[index];
    Told theirs;
    if (known.before < 0 || !receive(known.before, known.context, theirs)) continue;
    const std::string found = different_call(told_by_this_rank[index], theirs, known.before);
    if (found.empty()) continue;
    lines += "weft-mpi: rank " + std::to_string(own_world_rank) +
             ": MPI_Finalize: the ranks have not called the same collectives in the same order on " +
             known.name + ": " + found + "\n";
  }
  return lines;
}

bool is_of_histories(std::uint32_t context, int tag) noexcept { return (context & 3) == 1 && tag == kTag; }

}  // namespace weft::mpi
