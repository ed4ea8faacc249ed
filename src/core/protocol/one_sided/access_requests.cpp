#include "core/protocol/one_sided/access_requests.hpp"

#include "core/protocol/to_status.hpp"

#include <weft/completion/completion.hpp>
#include <weft/detail/message_access.hpp>

#include <cstring>
#include <string>
#include <utility>

namespace weft::core {

using network::Outgoing;
using network::SendResult;
using network::TrafficClass;

namespace {

const char* traced_name(Operation operation) noexcept {
  return operation == Operation::put ? "put" : operation == Operation::get ? "get" : "atomic operation";
}

}  // namespace

AccessRequests::AccessRequests(const Context& context, OneSidedCounts& counts)
    : context_(context),
      counts_(counts),
      sizes_(context),
      requests_(context.requests, "accesses in progress"),
      flushes_(context.ranks) {}

AccessRequest* AccessRequests::take(const OneSidedAccess& access, const AccessOrigin& origin) noexcept {
  Request* const taken = requests_.take();
  if (taken == nullptr) return nullptr;
  detail::NamedCompletion::note_named_by(access.options.completion, context_.device_number);
  Request& request = *taken;
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
  context_.trace(TraceEvent::Phase::begin, traced_name(access.operation), access.peer, access.size,
                 request.index);
  request.sent = 0;
  request.piece = access.operation == Operation::get ? sizes_.get : sizes_.put;
  counts_.outstanding.fetch_add(1, std::memory_order_relaxed);
  // Pairs with the acquire in claim(): a thread that names this generation sees the request.
  request.word.fetch_or(request_word::kPosting, std::memory_order_release);
  return &request;
}

void AccessRequests::free(Request& request) noexcept {
  request.packet.reset();
  request.source.reset();
  if (request.by_messages) waiting_.fetch_sub(1, std::memory_order_relaxed);
  context_.trace(TraceEvent::Phase::end, traced_name(request.operation), request.peer, request.size,
                 request.index);
  const std::uint64_t generation = request.word.load(std::memory_order_relaxed) >> 32;
  request.word.store((generation + 1) << 32, std::memory_order_release);
  requests_.put(request);
  counts_.outstanding.fetch_sub(1, std::memory_order_release);
}

void AccessRequests::count_failure(Operation operation, const RemoteAddress& where, std::size_t size,
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

void AccessRequests::count_success(const Request& request) noexcept {
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

Status AccessRequests::finish(Request& request, Outcome outcome, bool in_post) noexcept {
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
    advance(request);
  } else {
    free(request);
  }
  if (completion == nullptr) return Status::done();
  context_.ends.signal(*completion, message);
  return Status::posted();
}

bool AccessRequests::send_signal(Request& request, Caller caller) noexcept {
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
  SendResult result = context_.port->send(outgoing, {}, caller);
  if (result == SendResult::no_slot && request.from_handler) {
    outgoing.traffic = TrafficClass::control;
    result = context_.port->send(outgoing, {}, caller);
  }
  if (result == SendResult::peer_left)
    context_.counters.dropped_sends.fetch_add(1, std::memory_order_relaxed);
  return !to_status(result).is_retry();
}

}  // namespace weft::core
