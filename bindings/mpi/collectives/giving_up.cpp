#include "bindings/mpi/collectives/exchange.hpp"
#include "bindings/mpi/transport/matching.hpp"

#include <cstddef>
#include <utility>

namespace weft::mpi {

namespace {

/// A rank has at most so many receives from another one under way at a time.
constexpr int kReceivesFromOne = 2;
constexpr std::byte kNotice[kNoticeBytes] = {};

void receive_anything(Request& request) {
  post_buffer(request, nullptr, 0, byte_type, MPI_ANY_SOURCE, request.tag, request.context, false);
}

/// Of messages that no collective waits for any more.
class Abandoned final : public RequestOwner {
 public:
  void finish(Request& request) noexcept override {
    const int error = request.status.MPI_ERROR;
    const bool has_come = error == MPI_SUCCESS || error == MPI_ERR_TRUNCATE;
    if (request.what == Request::What::receive && has_come && !is_cancelled(request.status))
      receive_anything(request);
    else
      give_request(&request);
  }
};
Abandoned abandoned;

Task told_to_both_sides(Channel channel, Task task) {
  try {
    co_await task;
  } catch (const Failure&) {
    for (const Channel& side : {channel, channel.local()}) {
      tell_of_failure(side);
      take_what_still_comes(side);
    }
    throw;
  }
}

}  // namespace

void tell_of_failure(const Channel& channel) noexcept {
  if (channel.is_of_neighbours()) return;
  const int members = channel.communicator.peers().size();
  const int self = channel.communicator.is_inter() ? -1 : channel.rank();
  for (int index = 0; index < members * kReceivesFromOne; ++index) {
    const int to = index % members;
    if (to == self) continue;
    Request* const request = take_request(channel.communicator);
    request->owner = &abandoned;
    if (post_message(*request, kNotice, sizeof kNotice, byte_type, to, channel.tag, channel.context,
                     SendMode::standard))
      give_request(request);
  }
}

void take_what_still_comes(const Channel& channel) noexcept {
  if (channel.is_of_neighbours()) return;
  // Of the world: the program may free its communicator while this lasts.
  Request* const request = take_request(*communicator_world);
  request->owner = &abandoned;
  request->tag = channel.tag;
  request->context = channel.context;
  receive_anything(*request);
}

void drop_old_notices(const Communicator& communicator, int before) noexcept {
  // Those that return at once, whose numbers are odd, may be under way for long.
  const auto is_old = [before](const ProbedMessage& message) {
    const int number = tag_of_key(message.tag);
    return message.length == kNoticeBytes && number >= 0 && number < before && number % 2 == 0;
  };
  for (const std::uint32_t context : {communicator.hidden_context(), communicator.context | 3}) {
    ProbedMessage found;
    while (probe(MPI_ANY_SOURCE, context, MPI_ANY_TAG, found) && is_old(found))
      static_cast<void>(matched_probe(found.peer, context, tag_of_key(found.tag)));
  }
}

Task told_to_all_sides(const Channel& channel, Task task) {
  return channel.communicator.is_inter() ? told_to_both_sides(channel, std::move(task)) : std::move(task);
}

}  // namespace weft::mpi
