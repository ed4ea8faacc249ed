// Posts of one-sided accesses: by the network (RMA), else by messages, else into the backlog.
#include "base/memory/bulk_copy.hpp"
#include "core/protocol/one_sided/one_sided.hpp"
#include "core/protocol/one_sided/signal.hpp"
#include "core/protocol/to_status.hpp"

#include <cstring>
#include <string>

namespace weft::core {

using network::AccessResult;
using network::RemoteMemory;

namespace {

[[nodiscard]] Reason reason_of(AccessResult result) noexcept {
  switch (result) {
    case AccessResult::no_slot:
      return Reason::no_slot;
    case AccessResult::lock_contended:
      return Reason::lock_contended;
    default:
      return Reason::not_ready;
  }
}

/// Apart, so that chains of posts which end at once need no stack for its text.
[[gnu::cold, gnu::noinline]] void log_unreached(const base::Log& log, const RemoteRegion& region,
                                                bool is_native) noexcept {
  log.error(std::string(is_native ? "atomic operations of devices are all that there are, but this network"
                                  : "attribute one_sided is direct, but this network") +
            " does not reach region " + std::to_string(region.index) + " of rank " +
            std::to_string(region.rank) + " by itself: the access is refused");
}

}  // namespace

Status OneSided::post(const Access& access, Backlog& backlog, Caller caller) {
  const RemoteRegion& region = access.where.region;
  if (access.peer < 0 || access.peer >= context_.ranks || region.rank != access.peer ||
      region.generation == 0 || !access.options.region.is_empty() ||
      (access.operation == Operation::atomic &&
       !(region.native_atomics == 0 ? is_possible(access.update.operation, access.update.type)
                                    : is_native(access.update.operation, access.update.type)))) [[unlikely]]
    check(access);
  caller.reserves_room = !backlog.empty();
  const Origin origin{nullptr, caller, backlog.waits_for_room(access.peer),
                      requests_.flushes().enter(access.peer)};
  const Status status = attempt(access, origin);
  if (!status.is_retry()) return status;
  if (!access.options.may_retry || caller.from_handler) return enqueue(access, backlog, origin);
  requests_.flushes().leave(access.peer, origin.epoch);
  return status;
}

Status OneSided::attempt(const Access& access, const Origin& origin) noexcept {
  Request* request = requests_.take(access, origin);
  if (request == nullptr) return Status::retry(Reason::no_request);
  const bool is_native = access.operation == Operation::atomic && access.where.region.native_atomics != 0;
  bool is_reached = is_native || access.where.is_mapped || context_.access_path != AccessPath::message;
  if (is_reached) {
    const Status status = access.where.is_mapped || (access.operation == Operation::atomic && !is_native)
                              ? attempt_located(*request, origin, is_reached)
                              : attempt_directly(*request, origin, is_reached);
    if (is_reached) return status;
  }
  if (context_.access_path == AccessPath::direct || is_native) {
    log_unreached(context_.log, access.where.region, is_native);
    return requests_.finish_in_post(*request, Outcome::refused);
  }
  if (origin.waits_for_room) return give_up(*request, origin, Reason::backlog);
  return attempt_by_messages(*request, origin);
}

/// Carries out an access by loads, stores and atomic operations of this process.
Status OneSided::attempt_in_place(Request& request, std::byte* located) noexcept {
  if (request.operation == Operation::atomic) {
    if (!detail::is_aligned(located, request.size))
      return requests_.finish_in_post(request, Outcome::refused);
    const std::uint64_t old = carry_out(request.update, located);
    if (request.data != nullptr) std::memcpy(request.data, &old, request.size);
  } else if (request.size != 0) {
    if (request.operation == Operation::put)
      base::copy_bulk(located, request.data, request.size);
    else
      base::copy_bulk(request.data, located, request.size);
  }
  return requests_.finish_in_post(request, Outcome::ok);
}

/// Attempts an access in mapped memory. `is_reached` becomes false when peers cannot map the region.
Status OneSided::attempt_located(Request& request, const Origin& origin, bool& is_reached) noexcept {
  const RemoteRegion& region = request.where.region;
  const network::RemoteMemory memory{{region.index, region.generation},
                                     {region.address, region.key},
                                     region.bytes,
                                     request.where.offset,
                                     request.options.device,
                                     {}};
  std::byte* located = nullptr;
  const AccessResult result = context_.port->locate(region.rank, memory, request.size, located);
  switch (result) {
    case AccessResult::done:
      return attempt_in_place(request, located);
    case AccessResult::refused:
      return requests_.finish_in_post(request, Outcome::refused);
    case AccessResult::peer_left:
      return requests_.finish_in_post(request, Outcome::peer_failed);
    case AccessResult::unsupported:
      is_reached = false;
      return Status::retry(Reason::none);
    case AccessResult::posted:
    case AccessResult::no_slot:
    case AccessResult::lock_contended:
    case AccessResult::not_ready:
      break;
  }
  return give_up(request, origin, reason_of(result));
}

/// Attempts an access by the network. `is_reached` becomes false when the network cannot reach the region.
Status OneSided::attempt_directly(Request& request, const Origin& origin, bool& is_reached) noexcept {
  using namespace request_word;
  const AccessOptions& options = request.options;
  const RemoteRegion& region = request.where.region;
  const bool is_put = request.operation == Operation::put;
  const RemoteMemory memory{
      {region.index, region.generation},
      {region.address, region.key},
      region.bytes,
      request.where.offset,
      options.signal.generation() != 0 ? options.signal.device() : std::uint8_t{options.device},
      name_of(options.region)};
  const int peer = region.rank;
  const SignalFacts facts{options.signal, options.tag, is_put,
                          context_.port->peer_capabilities(peer).immediate_bytes};
  const std::uint64_t immediate = immediate_of(facts);
  request.is_signalled = select_signal(facts) == SignalBy::immediate;
  request.word.fetch_or(kAtNetwork, std::memory_order_relaxed);
  const std::uint64_t token = word_of(request.name());
  const AccessResult result = [&] {
    if (is_put)
      return context_.port->put(peer, memory, {request.data, request.size},
                                request.is_signalled ? &immediate : nullptr, token);
    if (request.operation == Operation::get)
      return context_.port->get(peer, memory, {request.data, request.size}, token);
    const AtomicUpdate& update = request.update;
    return context_.port->atomic(peer, memory,
                                 {update.operation == detail::kCompareSwap, update.operand, update.expected},
                                 request.data, token);
  }();
  switch (result) {
    case AccessResult::done:
      return requests_.finish_in_post(request, Outcome::ok);
    case AccessResult::refused:
      return requests_.finish_in_post(request, Outcome::refused);
    case AccessResult::peer_left:
      return requests_.finish_in_post(request, Outcome::peer_failed);
    case AccessResult::posted: {
      // From here on access_completed() may end the request, unless it has been called already.
      const std::uint64_t after = update(request.word, [](std::uint64_t word) { return word & ~kPosting; });
      if ((after & kUnderWay) != 0) return Status::posted();
      return requests_.finish_in_post(request, outcome_of(after));
    }
    case AccessResult::unsupported:
      request.is_signalled = false;
      request.word.fetch_and(~kAtNetwork, std::memory_order_relaxed);
      is_reached = false;
      return Status::retry(Reason::none);
    case AccessResult::no_slot:
    case AccessResult::lock_contended:
    case AccessResult::not_ready:
      break;
  }
  return give_up(request, origin, reason_of(result));
}

/// Frees a request of which the network has accepted nothing.
Status OneSided::give_up(Request& request, const Origin& origin, Reason reason) noexcept {
  if (request.source) origin.pending->packet = std::move(request.source);
  requests_.free(request);
  return Status::retry(reason);
}

Status OneSided::attempt_by_messages(Request& request, const Origin& origin) noexcept {
  using namespace request_word;
  const bool is_single = request.is_single();
  // The only message holds a copy of the source, which is free again; without a result or a completion object
  // the post is done.
  const bool has_result = request.operation == Operation::get ||
                          (request.operation == Operation::atomic && request.data != nullptr);
  const bool is_done = is_single && !has_result && request.options.completion == nullptr;
  requests_.await_peer(request);
  bool has_left = false;
  const Status status = messages_.send_piece(request, origin.caller, has_left);
  if (has_left) return requests_.finish_in_post(request, Outcome::peer_failed);
  if (status.is_retry()) return give_up(request, origin, status.reason());
  if (!is_single) {
    // step() sends the remaining pieces.
    requests_.advance(request);
    return Status::posted();
  }
  const std::uint64_t after = update(request.word, [](std::uint64_t word) { return word & ~kPosting; });
  if ((after & kUnderWay) == 0) return requests_.finish_in_post(request, outcome_of(after));
  return is_done ? Status::done() : Status::posted();
}

Status OneSided::enqueue(const Access& access, Backlog& backlog, const Origin& origin) noexcept {
  // Without a completion object only a flush tells when the source is free: small sources are copied.
  const bool is_copied = access.operation == Operation::put && access.options.completion == nullptr;
  Packet packet;
  if (is_copied && access.size > PendingPost::kCopied && access.size <= context_.limits.packet_bytes)
    packet = context_.pool.get();
  PendingPost* post = backlog.take(access.peer, origin.caller.from_handler);
  if (post == nullptr) {
    requests_.flushes().leave(access.peer, origin.epoch);
    return Status::retry(Reason::backlog);
  }
  post->operation = access.operation;
  post->other = PendingAccess{access.where, access.options, origin.epoch, access.update};
  post->data = access.data;
  post->size = access.size;
  if (packet) {
    base::copy_bulk(packet.data(), access.data, access.size);
    post->data = packet.data();
    post->packet = std::move(packet);
  } else if (is_copied && access.size <= PendingPost::kCopied) {
    if (access.size != 0) std::memcpy(post->copy, access.data, access.size);
    post->data = post->copy;
  }
  backlog.add(*post);
  return Status::posted();
}

Status OneSided::post_again(PendingPost& post, Caller caller) noexcept {
  const PendingAccess& pending = std::get<PendingAccess>(post.other);
  Access access{post.operation, post.peer,       pending.where, const_cast<std::byte*>(post.data),
                post.size,      pending.options, pending.update};
  access.options.may_complete_now = false;  // the poster was told that it was posted
  return attempt(access, {&post, caller, false, pending.flush_epoch});
}

}  // namespace weft::core
