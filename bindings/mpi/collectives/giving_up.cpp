#include "bindings/mpi/collectives/exchange.hpp"
#include "bindings/mpi/transport/matching.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

namespace weft::mpi {

namespace {

/// A rank has at most so many receives from another one under way at a time.
constexpr int kReceivesFromOne = 2;
constexpr std::byte kNotice[kNoticeBytes] = {};

/// Receives of messages that no collective waits for any more. Each is in the way of every message that
/// comes, so that only the last ones stay; what comes for the others is dropped by and by.
class Abandoned final : public RequestOwner {
 public:
  void finish(Request& request) noexcept override {
    if (request.what != Request::What::receive) return give_request(&request);
    const int error = request.status.MPI_ERROR;
    const bool has_come =
        (error == MPI_SUCCESS || error == MPI_ERR_TRUNCATE) && !is_cancelled(request.status);
    const std::lock_guard lock(mutex_);
    const auto found = std::find(posted_.begin(), posted_.end(), &request);
    if (has_come && found != posted_.end()) return post(request);
    if (found != posted_.end()) posted_.erase(found);
    give_request(&request);
  }

  void take(const Channel& channel) {
    // Of the world: the program may free its communicator while this lasts.
    Request* const request = take_request(*communicator_world);
    request->owner = this;
    request->tag = channel.tag;
    request->context = channel.context;
    const std::lock_guard lock(mutex_);
    if (posted_.size() == kMostPosted) {
      const Request& oldest = *posted_.front();
      int& last = given_up_[{oldest.context, oldest.tag & 1}];
      last = std::max(last, oldest.tag);
      const ReceiveHandle handle = oldest.handle;
      posted_.pop_front();
      static_cast<void>(world->endpoint.cancel(handle));
    }
    posted_.push_back(request);
    post(*request);
  }

  /// Whether the collective may be one of those whose receives stay no longer: it is not behind the last one.
  [[nodiscard]] bool has_given_up(std::uint32_t context, int tag) {
    const std::lock_guard lock(mutex_);
    const auto last = given_up_.find({context, tag & 1});
    return last != given_up_.end() && tag <= last->second;
  }

 private:
  static constexpr std::size_t kMostPosted = 64;

  static void post(Request& request) {
    post_buffer(request, nullptr, 0, byte_type, MPI_ANY_SOURCE, request.tag, request.context, true);
  }

  std::recursive_mutex mutex_;  // a receive may end while it is posted, or cancelled
  std::deque<Request*> posted_;
  std::map<std::pair<std::uint32_t, int>, int> given_up_;  // by context, and whether they return at once
};
Abandoned& abandoned() {
  static Abandoned& all = *new Abandoned;
  return all;
}

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
    request->owner = &abandoned();
    if (post_message(*request, kNotice, sizeof kNotice, byte_type, to, channel.tag, channel.context,
                     SendMode::standard))
      give_request(request);
  }
}

void take_what_still_comes(const Channel& channel) noexcept {
  if (!channel.is_of_neighbours()) abandoned().take(channel);
}

void drop_what_came_late(const Communicator& communicator, const Passed& passed) noexcept {
  for (const std::uint32_t context : {communicator.hidden_context(), communicator.context | 3}) {
    const auto is_late = [&](const ProbedMessage& message) {
      const int number = tag_of_key(message.tag);
      return number >= 0 && number < (number % 2 == 0 ? passed.others : passed.immediate) &&
             (message.length == kNoticeBytes || abandoned().has_given_up(context, number));
    };
    ProbedMessage found;
    while (probe(MPI_ANY_SOURCE, context, MPI_ANY_TAG, found) && is_late(found))
      static_cast<void>(matched_probe(found.peer, context, tag_of_key(found.tag)));
  }
}

Task told_to_all_sides(const Channel& channel, Task task) {
  return channel.communicator.is_inter() ? told_to_both_sides(channel, std::move(task)) : std::move(task);
}

}  // namespace weft::mpi
