#include "bindings/mpi/deadlocks/sighting_messages.hpp"

#include "bindings/mpi/requests/request.hpp"
#include "bindings/mpi/transport/matching.hpp"

#include <atomic>
#include <list>
#include <memory>
#include <span>
#include <utility>

namespace weft::mpi {

namespace {

SightingCounts counts;

/// A message under way, which lasts until it has been sent.
struct Outgoing final : RequestOwner {
  explicit Outgoing(const Sighting& what) : message(what) {}
  void finish(Request& request) noexcept override {
    give_request(&request);
    delete this;
  }
  [[nodiscard]] static bool post(int rank, const Sighting& what) {
    auto own = std::make_unique<Outgoing>(what);
    Request* const request = take_request(*communicator_world);
    request->what = Request::What::send;
    request->owner = own.get();
    const Status status = world->endpoint.post_send(rank, key_of(kContextOfSightings, kTagOfSightings),
                                                    std::as_bytes(std::span(&own->message, 1)),
                                                    {.completion = &request_signals(),
                                                     .user_data = request,
                                                     .engine = kEngine,
                                                     .may_complete_now = true});
    if (status.is_posted())
      static_cast<void>(own.release());
    else
      give_request(request);
    if (status.is_retry()) return false;
    ++counts.sent;
    return true;
  }
  Sighting message;
};

/// One that has come, until it has been copied.
struct Incoming final : RequestOwner {
  void finish(Request& request) noexcept override {
    has_come = request.status.MPI_ERROR == MPI_SUCCESS;
    give_request(&request);
    has_ended.store(true, std::memory_order_release);
  }
  Sighting message;
  int from = -1;
  bool has_come = false;
  std::atomic<bool> has_ended{false};
};
std::list<Incoming>& incoming() {
  static std::list<Incoming>& all = *new std::list<Incoming>;
  return all;
}

void receive_all() {
  while (MatchedMessage matched = matched_probe(MPI_ANY_SOURCE, kContextOfSightings, kTagOfSightings)) {
    ++counts.arrived;
    if (matched.info().length != sizeof(Sighting)) continue;
    Incoming& next = incoming().emplace_back();
    next.from = matched.info().peer;
    Request* const request = take_request(*communicator_world);
    request->what = Request::What::receive;
    request->peer = next.from;
    request->owner = &next;
    ReceiveOptions options = receive_options(0);
    options.completion = &request_signals();
    options.user_data = request;
    static_cast<void>(world->endpoint.post_receive(
        std::move(matched), std::as_writable_bytes(std::span(&next.message, 1)), options));
  }
}

}  // namespace

bool post_sighting(int rank, const Sighting& what) { return Outgoing::post(rank, what); }

bool take_sighting(Sighting& message, int& from) {
  receive_all();
  if (incoming().empty() || !incoming().front().has_ended.load(std::memory_order_acquire)) return false;
  const Incoming& first = incoming().front();
  const bool has_come = first.has_come;
  message = has_come ? first.message : Sighting();
  from = first.from;
  incoming().pop_front();
  return true;
}

SightingCounts count_of_sightings() noexcept { return counts; }

}  // namespace weft::mpi
