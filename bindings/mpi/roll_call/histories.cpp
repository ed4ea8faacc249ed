#include "bindings/mpi/roll_call/histories.hpp"

#include "bindings/mpi/callers/program_image.hpp"
#include "bindings/mpi/check/finding.hpp"
#include "bindings/mpi/communicators/known.hpp"
#include "bindings/mpi/operations/operation.hpp"
#include "bindings/mpi/requests/start.hpp"
#include "bindings/mpi/roll_call/roll_call.hpp"
#include "bindings/mpi/roll_call/told.hpp"
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
/// Communicators of which a rank tells at the end. Who has heard nothing compares nothing.
constexpr std::size_t kMostTold = 256;

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
  told.hash = history.hash();
  told.functions = history.functions();
  told.image = program_image();
  told.block = history.block();
  for (std::uint64_t index = 0; index < told.count / told.block; ++index)
    told.behind[index] = history.hash_behind(index);
  for (std::uint64_t number = told.oldest(); number <= told.count; ++number) {
    const CallHistory::Call& call = history.call(number);
    Told::Call& to = told.calls[(number - 1) % CallHistory::kKept];
    to.hash = call.hash;
    to.function = call.function;
    to.caller = offset_in_program(call.caller);
    describe(call, to.what, sizeof to.what);
  }
  return told;
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
    const Status status = world->endpoint.post_send(rank, key_of(context | 1, kTagOfHistories), bytes,
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
  MatchedMessage message = matched_probe(rank, context | 1, kTagOfHistories);
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
  make_valid(told);
  return has_come;
}

/// Of a communicator: what this rank has called otherwise than the member before it, unless that one differs
/// from both its neighbours and tells it itself. `is_any`: whether a neighbour has.
std::string different_calls(const KnownHistory& known, const Told& mine, bool& is_any) {
  Told nearest, next, behind;
  const auto has_come = [&](int rank, Told& told) { return rank >= 0 && receive(rank, known.context, told); };
  const bool has_nearest = has_come(known.before[0], nearest), has_next = has_come(known.before[1], next),
             has_behind = has_come(known.behind[0], behind);
  is_any = is_any || (has_behind && are_different(mine, behind)) || (has_next && are_different(mine, next));
  if (!has_nearest || !are_different(mine, nearest)) return "";
  is_any = true;
  if (has_next && !are_different(mine, next)) return "";
  const bool is_alone = has_behind && !are_different(nearest, behind);
  const std::string others = is_alone ? "ranks " + std::to_string(known.before[0]) + " and " +
                                            std::to_string(known.behind[0]) + " call"
                                      : "rank " + std::to_string(known.before[0]) + " calls";
  return different_call(mine, nearest, others);
}

}  // namespace

void tell_histories() {
  histories = known_histories(kMostTold);
  told_by_this_rank.clear();
  for (const KnownHistory& known : histories) told_by_this_rank.push_back(told_of(known.history));
  constexpr std::chrono::seconds kPatience{10};
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (std::size_t index = 0; index < histories.size(); ++index)
    for (const int rank :
         {histories[index].behind[0], histories[index].behind[1], histories[index].before[0]})
      if (rank >= 0) post(rank, histories[index].context, told_by_this_rank[index], until);
}

DifferentHistories different_histories() {
  DifferentHistories all;
  world->endpoint.progress();
  for (std::size_t index = 0; index < histories.size(); ++index) {
    const std::string found = different_calls(histories[index], told_by_this_rank[index], all.is_any);
    if (found.empty()) continue;
    all.lines += "weft-mpi: rank " + std::to_string(own_world_rank) +
                 ": MPI_Finalize: the ranks have not called the same collectives in the same order on " +
                 histories[index].name + ": " + found + "\n";
  }
  return all;
}

}  // namespace weft::mpi
