#include "bindings/mpi/roll_call/roll_call.hpp"

#include "bindings/mpi/collectives/launch.hpp"
#include "bindings/mpi/explanations/waiting.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>

namespace weft::mpi {

namespace {

std::atomic<int> comparisons{0};  // under way

/// What a member says of its call; travels as it is.
struct Description {
  char call[40] = {};       // without "_c"
  char operation[40] = {};  // "" where it has none
  MPI_Count amount = CollectiveCall::kAny;
  std::int64_t root = -1;
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
  mine.amount = call.amount;
  mine.root = call.root;
  return mine;
}

/// "MPI_Bcast with root 0".
std::string with(const char* call, const char* what, const std::string& value) {
  return std::string(call) + " with " + what + " " + value;
}

/// What two members have called differently: on this rank, and on the other one; empty: nothing.
std::pair<std::string, std::string> difference(const Description& mine, const Description& theirs) {
  if (std::strcmp(mine.call, theirs.call) != 0) return {mine.call, theirs.call};
  if (mine.root != theirs.root)
    return {with(mine.call, "root", std::to_string(mine.root)),
            with(theirs.call, "root", std::to_string(theirs.root))};
  if (std::strcmp(mine.operation, theirs.operation) != 0)
    return {with(mine.call, "operation", mine.operation), with(theirs.call, "operation", theirs.operation)};
  if (mine.amount != theirs.amount && mine.amount >= 0 && theirs.amount >= 0)
    return {with(mine.call, "bytes for each rank:", std::to_string(mine.amount)),
            with(theirs.call, "bytes for each rank:", std::to_string(theirs.amount))};
  return {};
}

Task compare(Channel channel, Description mine, CallSite site) {
  Description theirs;
  const int rank = channel.rank(), size = channel.size();
  const int previous = (rank + size - 1) % size;
  Exchange exchange(channel);
  exchange.receive(&theirs, sizeof theirs, byte_type, previous);
  exchange.send(&mine, sizeof mine, byte_type, (rank + 1) % size);
  co_await exchange;
  theirs.call[sizeof theirs.call - 1] = theirs.operation[sizeof theirs.operation - 1] = '\0';
  const auto [here, there] = difference(mine, theirs);
  if (!here.empty())
    end_with_finding(
        site, &channel.communicator, MPI_ERR_OTHER,
        "the ranks call different collectives as number %u there: this rank calls %s, rank %d calls %s",
        static_cast<unsigned>(channel.tag & 0x3fffffff) / 2 + 1, here.c_str(), previous, there.c_str());
  comparisons.fetch_sub(1, std::memory_order_release);
}

}  // namespace

void call_the_roll(Communicator& communicator, const CollectiveCall& call) {
  if (communicator.is_inter() || communicator.size == 1) return;
  // Beside the collective's own messages, by a bit of the tag that numbers of collectives do not reach.
  const std::string_view name = current_call;
  const int which = name.starts_with("MPI_I") || name.starts_with("MPI_Comm_idup") ? 1 : 0;
  const auto number =
      static_cast<int>((communicator.collectives[which].load(std::memory_order_relaxed) & 0x3fffffff) |
                       static_cast<unsigned>(which));
  Request* const request = take_request(communicator);
  request->what = Request::What::work;
  request->state.store(Request::kFreed, std::memory_order_relaxed);  // nobody waits for it
  comparisons.fetch_add(1, std::memory_order_relaxed);
  launch(compare(Channel(communicator, communicator.hidden_context(), number | 0x40000000),
                 description_of(call), CallSite::current()),
         *request);
}

void finish_roll_calls() {
  if (comparisons.load(std::memory_order_acquire) == 0) return;
  wait_in_call([](const void*) noexcept { return comparisons.load(std::memory_order_acquire) == 0; }, nullptr,
               &request_signals(),
               [] {
                 return WaitPurpose{WaitPurpose::What::creation, communicator_world};
               });
}

}  // namespace weft::mpi
