// Requests of one-sided operations, from a post to their completion.
#include "core/protocol/one_sided/records.hpp"

#include "core/protocol/one_sided/signal.hpp"
#include "core/protocol/to_status.hpp"

#include <weft/detail/message_access.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace weft::core {

using network::Outgoing;
using network::SendResult;
using network::TrafficClass;

namespace {

const char* traced_name(Operation operation) noexcept {
  return operation == Operation::put ? "put" : operation == Operation::get ? "get" : "atomic operation";
}

}  // namespace

OneSided::OneSided(const Context& context)
    : context_(context),
      inline_limit_(
          std::clamp(context.limits.inline_bytes, network::kSmallestSend, std::size_t{kStackMessage})),
      put_piece_(context.limits.packet_bytes - sizeof(AccessPiece)),
      get_piece_(context.limits.packet_bytes - sizeof(GetData)),
      free_requests_(context.requests),
      free_answers_(context.requests),
      requests_(new Request[context.requests]),
      answers_(new Answer[context.requests]),
      flushes_(context.ranks) {
  for (std::uint32_t index = 0; index < context.requests; ++index) {
    requests_[index].index = index;
    answers_[index].index = index;
  }
}

OneSided::~OneSided() = default;

OneSided::Request* OneSided::take(const Access& access, const Origin& origin) noexcept {
  const std::uint32_t index = free_requests_.take();
  if (index == concurrent::IndexPool<>::kNone) return nullptr;
  used_requests_.note(index);
  detail::NamedCompletion::note_named_by(access.options.completion, context_.keeper);
  Request& request = requests_[index];
  request.epoch = origin.epoch;
  request.from_handler = origin.caller.from_handler;
  request.by_messages = request.signals = request.is_signalled = false;
  request.operation = access.operation;
  request.peer.store(access.peer, std::memory_order_relaxed);
  request.where = access.where;
  request.data = access.data;
  request.size = access.size;
  if (origin.pending != nullptr && origin.pending->packet) {
    request.source = std::move(origin.pending->packet);
  } else if (origin.pending != nullptr && origin.pending->data == origin.pending->copy) {
    std::memcpy(request.copy, access.data, access.size);
    request.data = request.copy;
  }
  request.update = access.update;
  request.options = access.options;
  context_.trace(TraceEvent::Phase::begin, traced_name(access.operation), access.peer, access.size, index);
  request.sent = 0;
  request.piece = access.operation == Operation::get ? get_piece_ : put_piece_;
  outstanding_.fetch_add(1, std::memory_order_relaxed);
  // Pairs with the acquire in claim(): a thread that names this generation sees the request.
  request.word.fetch_or(request_word::kPosting, std::memory_order_release);
  return &request;
}

void OneSided::free(Request& request) noexcept {
  request.packet.reset();
  request.source.reset();
  if (request.by_messages) waiting_.fetch_sub(1, std::memory_order_relaxed);
  context_.trace(TraceEvent::Phase::end, traced_name(request.operation), request.peer, request.size,
                 request.index);
  const std::uint64_t generation = request.word.load(std::memory_order_relaxed) >> 32;
  request.word.store((generation + 1) << 32, std::memory_order_release);
  free_requests_.put(request.index);
  outstanding_.fetch_sub(1, std::memory_order_release);
}

void OneSided::count_failure(Operation operation, const RemoteAddress& where, std::size_t size,
                             Outcome outcome) noexcept {
  if (outcome != Outcome::refused) {
    context_.counters.dropped_sends.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const std::uint64_t count = context_.counters.refused_accesses.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!is_reported(count)) return;
  const char* const what = operation == Operation::put   ? "a put of "
                           : operation == Operation::get ? "a get of "
                                                         : "an atomic operation on ";
  context_.log.warn(what + std::to_string(size) + " bytes at offset " + std::to_string(where.offset) +
                    " of region " + std::to_string(where.region.index) + " of rank " +
                    std::to_string(where.region.rank) + " was refused: it is not inside the region" +
                    (operation == Operation::atomic ? ", not aligned to its size" : "") +
                    ", the region is not there any more, or its owner has made its memory inaccessible (" +
                    std::to_string(count) + " so far)");
}

void OneSided::count_success(const Request& request) noexcept {
  if (request.by_messages && context_.count(&DeviceCounts::accesses_by_messages) == 0)
    context_.log.in(base::LogModule::protocol).info([&] {
      return "the network does not reach region " + std::to_string(request.where.region.index) + " of rank " +
             std::to_string(request.where.region.rank) +
             ", or is not to (attribute one_sided): the first access by messages has ended";
    });
  if (request.operation == Operation::put) {
    context_.count(&DeviceCounts::puts);
    context_.count(&DeviceCounts::put_bytes, request.size);
  } else if (request.operation == Operation::get) {
    context_.count(&DeviceCounts::gets);
    context_.count(&DeviceCounts::get_bytes, request.size);
  } else {
    context_.count(&DeviceCounts::atomics);
  }
}

Status OneSided::finish(Request& request, Outcome outcome, bool in_post) noexcept {
  const AccessOptions& options = request.options;
  const int peer = request.peer.load(std::memory_order_relaxed);
  Completion* completion = options.completion;
  context_.trace(TraceEvent::Phase::instant, "access ended", peer, request.size, 0, name_of(outcome));
  if (outcome == Outcome::peer_failed) context_.lose(peer, traced_name(request.operation));
  if (outcome == Outcome::ok)
    count_success(request);
  else if (completion == nullptr)
    count_failure(request.operation, request.where, request.size, outcome);
  if (in_post && outcome == Outcome::ok && options.may_complete_now) completion = nullptr;
  Message message;
  detail::MessageAccess::set_view(message, request.operation, peer, options.tag, request.data,
                                  request.data != nullptr ? request.size : 0, nullptr, 0);
  detail::MessageAccess::set_device(message, context_.device);
  detail::MessageAccess::set_user_data(message, options.user_data);
  detail::MessageAccess::set_outcome(message, outcome);
  flushes_.leave(peer, request.epoch);
  const bool wants_signal =
      outcome == Outcome::ok && options.signal.generation() != 0 && !request.is_signalled;
  if (wants_signal && !send_signal(request, Caller{.exclusive = false})) {
    request.signals = true;
    working_.fetch_add(1, std::memory_order_relaxed);
    advancing_.add(request);
  } else {
    free(request);
  }
  if (completion == nullptr) return Status::done();
  context_.ends.signal(*completion, message);
  return Status::posted();
}

bool OneSided::send_signal(Request& request, Caller caller) noexcept {
  const AccessOptions& options = request.options;
  Outgoing outgoing{};
  outgoing.peer = request.peer.load(std::memory_order_relaxed);
  outgoing.device = options.signal.device();
  outgoing.traffic = TrafficClass::data;
  outgoing.channel =
      static_cast<std::uint8_t>(request.operation == Operation::put   ? Channel::put_signal
                                : request.operation == Operation::get ? Channel::get_signal
                                                                      : Channel::atomic_signal);
  outgoing.to_handle = true;
  outgoing.word = detail::handle_word(options.signal, options.tag);
  SendResult result = context_.port->send(outgoing, {}, caller.exclusive);
  if (result == SendResult::no_slot && request.from_handler) {
    outgoing.traffic = TrafficClass::control;
    result = context_.port->send(outgoing, {}, caller.exclusive);
  }
  if (result == SendResult::peer_left)
    context_.counters.dropped_sends.fetch_add(1, std::memory_order_relaxed);
  return !to_status(result).is_retry();
}

OneSided::Request* OneSided::claim(RequestName name, int peer, Operation operation) noexcept {
  using namespace request_word;
  if (name.index >= context_.requests) return nullptr;
  Request& request = requests_[name.index];
  // Pairs with the release in take().
  std::uint64_t word = request.word.load(std::memory_order_acquire);
  do {
    if (generation_of(word) != name.generation || (word & kPieces) == 0 || (word & kAtNetwork) != 0 ||
        (word & kBusyMask) == kBusyMask)
      return nullptr;
  } while (!request.word.compare_exchange_weak(word, word - 1 + kBusy, std::memory_order_acq_rel,
                                               std::memory_order_acquire));
  if (request.peer.load(std::memory_order_relaxed) == peer && request.operation == operation) return &request;
  settle(request, Outcome::ok, false);
  return nullptr;
}

/// Ends what claim() began. `counts` false: the message was no valid answer, and the piece is still in
/// progress.
void OneSided::settle(Request& request, Outcome outcome, bool counts) noexcept {
  using namespace request_word;
  const std::uint64_t after = update(request.word, [&](std::uint64_t word) {
    word -= kBusy;
    if (!counts && (word & (kLost | kExpired)) == 0) word += 1;
    if (counts && outcome != Outcome::ok) word |= kRefused;
    return word;
  });
  if ((after & kUnderWay) == 0) static_cast<void>(finish(request, outcome_of(after), false));
}

void OneSided::access_ended(std::uint64_t token, Outcome outcome) noexcept {
  using namespace request_word;
  const RequestName name = name_of(token);
  if (name.index >= context_.requests) return;
  Request& request = requests_[name.index];
  std::uint64_t word = request.word.load(std::memory_order_acquire);
  std::uint64_t after = 0;
  do {
    if (generation_of(word) != name.generation || (word & kAtNetwork) == 0) return;
    after = word & ~kAtNetwork;
    if (outcome == Outcome::refused) after |= kRefused;
    if (outcome == Outcome::peer_failed) after |= kLost;
  } while (
      !request.word.compare_exchange_weak(word, after, std::memory_order_acq_rel, std::memory_order_acquire));
  // While kPosting is set the post has not returned, and finishes the request itself.
  if ((after & kUnderWay) == 0) static_cast<void>(finish(request, outcome_of(after), false));
}

void OneSided::signal(std::uint64_t word, Operation operation, int peer) noexcept {
  Completion* completion = context_.exposures.find(word);
  if (completion == nullptr) {
    const std::uint64_t count = context_.counters.refused_handles.fetch_add(1, std::memory_order_relaxed) + 1;
    if (is_reported(count))
      context_.log.warn("refused a signal of rank " + std::to_string(peer) + " for id " +
                        std::to_string(word >> 48) + ", generation " + std::to_string(word >> 32 & 0xffff) +
                        ": stale, withdrawn or forged (" + std::to_string(count) + " so far)");
    return;
  }
  Message message;
  detail::MessageAccess::set_view(message, operation, peer, static_cast<std::uint32_t>(word), nullptr, 0,
                                  nullptr, 0);
  detail::MessageAccess::set_came_by(message, word, context_.device);
  completion->signal(message);
}

void OneSided::immediate_arrived(std::uint64_t immediate) noexcept {
  const int rank = rank_of_immediate(immediate);
  if (rank >= context_.ranks) return;
  const std::uint64_t word = word_of_immediate(immediate);
  // The put was sent without a check that the object is exposed: a signal for an object that will be exposed
  // later is stored.
  Answer* kept = context_.exposures.is_to_come(word) ? take_answer(false) : nullptr;
  if (kept == nullptr) return signal(word, Operation::put_arrived, rank);
  kept->peer = rank;
  kept->channel = Channel::put_signal;
  kept->word = word;
  outstanding_.fetch_sub(1, std::memory_order_relaxed);  // no operation of this rank waits for it
  give_or_keep(*kept);
}

bool OneSided::deliver(Channel channel, std::uint64_t word, Message& arrival, network::Sink& sink) noexcept {
  switch (channel) {
    case Channel::put:
      return on_put(word, arrival, sink);
    case Channel::get:
      return on_get(arrival, sink);
    case Channel::get_data:
      on_get_data(word, arrival, sink);
      return true;
    case Channel::access_ended:
      on_access_ended(word, arrival, sink);
      return true;
    case Channel::put_signal:
      signal(word, Operation::put_arrived, arrival.peer());
      return true;
    case Channel::get_signal:
      signal(word, Operation::get_arrived, arrival.peer());
      return true;
    case Channel::atomic:
      return on_atomic(word, arrival, sink);
    case Channel::atomic_ended:
      on_atomic_ended(word, arrival, sink);
      return true;
    case Channel::atomic_signal:
      signal(word, Operation::atomic_arrived, arrival.peer());
      return true;
    default:
      sink.reject(arrival.peer(), "message on an unknown channel", static_cast<std::uint64_t>(channel));
      return true;
  }
}

std::size_t OneSided::step(bool exclusive) noexcept {
  return giving_.run(working_, [&](Answer& answer) { return give(answer, exclusive); }) +
         advancing_.run(working_, [&](Request& request) { return advance(request, exclusive); });
}

void OneSided::end_lost_operations(const std::atomic<bool>* is_over) noexcept {
  using namespace request_word;
  if (waiting_.load(std::memory_order_relaxed) == 0) return;
  for (std::uint32_t index = 0; index < context_.requests; ++index) {
    Request& request = requests_[index];
    std::uint64_t word = request.word.load(std::memory_order_acquire);
    if ((word & (kPosting | kAtNetwork)) != 0 || (word & kPieces) == 0) continue;
    const int peer = request.peer.load(std::memory_order_relaxed);
    if (!context_.port->has_left(peer) || !is_over[peer].load(std::memory_order_acquire)) continue;
    // Fails when the request has changed meanwhile: then another thread ends it, or the next call does.
    const std::uint64_t after = (word & ~kPieces) | kLost;
    if (request.word.compare_exchange_strong(word, after, std::memory_order_acq_rel) &&
        (after & kUnderWay) == 0)
      static_cast<void>(finish(request, outcome_of(after), false));
  }
}

}  // namespace weft::core
