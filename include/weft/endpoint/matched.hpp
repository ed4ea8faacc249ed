// Sends and receives that a matching engine pairs: the two-sided part of an endpoint.
#pragma once

#include <weft/detail/device_path.hpp>
#include <weft/detail/endpoint_entry.hpp>
#include <weft/detail/immediate_completion.hpp>
#include <weft/endpoint/matched_calls.hpp>
#include <weft/matching.hpp>
#include <weft/matching/context.hpp>
#include <weft/message.hpp>
#include <weft/options.hpp>
#include <weft/packet.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

#include <cstdint>
#include <source_location>
#include <span>

namespace weft {

/// The sends and receives of Endpoint and SerialEndpoint, which inherit them. A send and a receive match when
/// they name the same engine and the same policy, and the fields that the policy compares are equal: out of
/// order, but first come first served under one key. On an ordered engine (MatchOrder) they match in MPI's
/// order, and receives and probes may name any_source and any_tag; weft::Error elsewhere.
///
/// The posting order of an ordered engine is the order of the posts of one thread, and of several threads as
/// far as the program orders them; for receives that were queued in the backlog, the order of the posts of
/// one device. A send that answered retry has no place in the order.
template <class Derived, class Locking>
class MatchedOperations {
 public:
  /// Posts a send: a receive of `peer` is filled with the payload.
  ///
  /// peer: a rank, 0 to size - 1, oneself included. tag: any 64 bits, except any_tag on ordered engines.
  /// bytes: 0 to 2^62 bytes; borrowed until done or completion; copied where there is no completion object.
  /// While a message waits for its receive it occupies a credit (attribute unexpected_credits, per sending
  /// device and receiving device); without one, and beyond packet_size, the message travels by rendezvous:
  /// the peer gets an RTS and fetches the payload when its receive is posted; without a credit and without a
  /// completion object the answer is retry(no_credit). Throws weft::Error for a peer or engine out of range.
  [[gnu::always_inline]] Status post_send(int peer, std::uint64_t tag, Bytes bytes,
                                          const SendOptions& options = {}) {
    const detail::EndpointEntry<Locking> entry(device(), "post_send");
    if (options.handle != nullptr) *options.handle = SendHandle();
    if (try_post_send(peer, tag, bytes, options)) [[likely]]
      return detail::complete_immediately(device(), Operation::send, peer, tag, bytes, options);
    const SendOptions given =
        options;  // a copy: options that are passed on lie in memory, options that are only read do not
    return Calls::post_send(device(), peer, tag, bytes, given);
  }
  /// Posts a send whose payload is the first `size` bytes of `packet`, where the program has assembled it.
  /// The packet is taken over unless the answer is retry. Arguments, answers and errors are those of
  /// post_send() with bytes.
  Status post_send(int peer, std::uint64_t tag, Packet&& packet, std::size_t size,
                   const SendOptions& options = {}) {
    const detail::EndpointEntry<Locking> entry(device(), "post_send");
    if (options.handle != nullptr) *options.handle = SendHandle();
    return Calls::post_send_packet(device(), peer, tag, packet, size, options);
  }
  /// post_send that progresses until the post is accepted and, without a completion object, until the payload
  /// may be reused, or options.timeout has passed. Returns the outcome of the operation, or ok when
  /// options.completion is to be signalled with it. Not inside handlers.
  [[gnu::always_inline]] Outcome send(int peer, std::uint64_t tag, Bytes bytes,
                                      const SendOptions& options = {},
                                      const std::source_location& where = std::source_location::current()) {
    const detail::EndpointEntry<Locking> entry(device(), "send");
    if (options.handle != nullptr) *options.handle = SendHandle();
    if (try_post_send(peer, tag, bytes, options)) [[likely]] {
      static_cast<void>(detail::complete_immediately(device(), Operation::send, peer, tag, bytes, options));
      return Outcome::ok;
    }
    const SendOptions given = options;
    return Calls::send(device(), peer, tag, bytes, given, where);
  }

  /// Posts a receive into `buffer`, which is borrowed until completion. Any number may be posted before,
  /// while and after messages arrive, up to the attribute matching_records. Refused, with Reason::no_request,
  /// for lack of records only, and while others wait in the backlog of an ordered engine: never because
  /// another thread uses the same part of the engine.
  ///
  /// source: a rank, or any_source on an ordered engine; ignored with MatchingPolicy::tag_only and any.
  /// options.completion is signalled with a Message whose data() is the buffer, peer() the sender and tag()
  /// the sender's tag (with MatchingPolicy::user: the key); a message longer than the buffer ends as
  /// Outcome::truncated with the real length().
  ///
  /// The cheapest receive names its completion object, which earlier receives have named as well (the first
  /// one notes it), by policy rank_and_tag without a handle and a timeout. On an ordered engine wildcards and
  /// a tag_mask cost little as long as few such receives are posted, and few messages wait that do not fit.
  [[gnu::always_inline]] Status post_receive(int source, std::uint64_t tag, std::span<std::byte> buffer,
                                             const ReceiveOptions& options) {
    const detail::EndpointEntry<Locking> entry(device(), "post_receive");
    // Decided here, where options are constants that the compiler knows.
    const bool has_timeout = options.timeout.count() != 0;
    const bool fits_fast_path = options.completion != nullptr &&
                                options.policy == MatchingPolicy::rank_and_tag && options.handle == nullptr &&
                                !has_timeout;
    const bool is_whole_tag = options.tag_mask == ~std::uint64_t{0};
    const std::uint64_t engine_and_source = (options.may_complete_now ? detail::kMayCompleteNow : 0) |
                                            static_cast<std::uint64_t>(options.engine) << 32 |
                                            static_cast<std::uint32_t>(source);
    if (fits_fast_path && is_whole_tag && options.engine < kMatchingEngines) [[likely]] {
      const bool is_posted =
          options.user_data == nullptr
              ? Calls::try_post_receive(device(), engine_and_source, tag, buffer.data(), buffer.size(),
                                        options.completion)
              : Calls::try_post_receive(device(), engine_and_source, tag, buffer.data(), buffer.size(),
                                        options.completion, options.user_data);
      if (is_posted) [[likely]]
        return Status::posted();
      const ReceiveOptions given = options;  // as in post_send()
      return Calls::post_receive_slow(device(), source, tag, buffer, given);
    }
    if (fits_fast_path && options.engine >= kMatchingEngines) {
      const bool is_posted =
          !is_whole_tag || tag == any_tag
              ? Calls::try_post_masked_receive(device(), engine_and_source, tag, options.tag_mask,
                                               buffer.data(), buffer.size(), options.completion,
                                               options.user_data)
          : options.user_data == nullptr
              ? Calls::try_post_ordered_receive(device(), engine_and_source, tag, buffer.data(),
                                                buffer.size(), options.completion)
              : Calls::try_post_ordered_receive(device(), engine_and_source, tag, buffer.data(),
                                                buffer.size(), options.completion, options.user_data);
      if (is_posted) [[likely]]
        return Status::posted();
    }
    const ReceiveOptions given = options;
    return has_timeout ? Calls::post_receive_within(device(), source, tag, buffer, given)
                       : Calls::post_receive(device(), source, tag, buffer, given);
  }
  /// Posts a receive that matches any tag, on an ordered engine. Answers and errors are those of
  /// post_receive() with a tag; also weft::Error when the engine is not an ordered one.
  Status post_receive(int source, AnyTag tag, std::span<std::byte> buffer, const ReceiveOptions& options) {
    detail::require_ordered(options.engine, "post_receive");
    return post_receive(source, static_cast<std::uint64_t>(tag), buffer, options);
  }
  /// Receives a message: progresses until it is in `buffer`, or options.timeout has passed
  /// (Outcome::timed_out). options.completion is not used. Not inside handlers.
  Message receive(int source, std::uint64_t tag, std::span<std::byte> buffer,
                  const ReceiveOptions& options = {},
                  const std::source_location& where = std::source_location::current()) {
    const detail::EndpointEntry<Locking> entry(device(), "receive");
    return Calls::receive(device(), source, tag, buffer, options, where);
  }
  Message receive(int source, AnyTag tag, std::span<std::byte> buffer, const ReceiveOptions& options,
                  const std::source_location& where = std::source_location::current()) {
    detail::require_ordered(options.engine, "receive");
    const detail::EndpointEntry<Locking> entry(device(), "receive");
    return Calls::receive(device(), source, tag, buffer, options, where);
  }

  // The same calls in a matching context (MatchingContext::tag()): options.engine is not used, and of
  // options.tag_mask the lower half. weft::Error also for a context of another runtime.

  [[gnu::always_inline]] Status post_send(int peer, const ContextTag& tag, Bytes bytes,
                                          const SendOptions& options = {}) {
    return post_send(peer, word_of(tag), bytes, detail::in_context(tag, options));
  }
  Status post_send(int peer, const ContextTag& tag, Packet&& packet, std::size_t size,
                   const SendOptions& options = {}) {
    return post_send(peer, word_of(tag), static_cast<Packet&&>(packet), size,
                     detail::in_context(tag, options));
  }
  [[gnu::always_inline]] Outcome send(int peer, const ContextTag& tag, Bytes bytes,
                                      const SendOptions& options = {},
                                      const std::source_location& where = std::source_location::current()) {
    return send(peer, word_of(tag), bytes, detail::in_context(tag, options), where);
  }
  [[gnu::always_inline]] Status post_receive(int source, const ContextTag& tag, std::span<std::byte> buffer,
                                             const ReceiveOptions& options) {
    return post_receive(source, word_of(tag), buffer, detail::in_context(tag, options));
  }
  Message receive(int source, const ContextTag& tag, std::span<std::byte> buffer,
                  const ReceiveOptions& options = {},
                  const std::source_location& where = std::source_location::current()) {
    return receive(source, word_of(tag), buffer, detail::in_context(tag, options), where);
  }
  [[nodiscard]] bool probe(int source, const ContextTag& tag, ProbedMessage& found,
                           const ReceiveOptions& options = {}) {
    return probe(source, word_of(tag), found, detail::in_context(tag, options));
  }
  [[nodiscard]] MatchedMessage matched_probe(int source, const ContextTag& tag,
                                             const ReceiveOptions& options = {}) {
    return matched_probe(source, word_of(tag), detail::in_context(tag, options));
  }
  Outcome wait_probe(int source, const ContextTag& tag, ProbedMessage& found,
                     const ReceiveOptions& options = {},
                     const std::source_location& where = std::source_location::current()) {
    return wait_probe(source, word_of(tag), found, detail::in_context(tag, options), where);
  }
  Outcome wait_matched_probe(int source, const ContextTag& tag, MatchedMessage& found,
                             const ReceiveOptions& options = {},
                             const std::source_location& where = std::source_location::current()) {
    return wait_matched_probe(source, word_of(tag), found, detail::in_context(tag, options), where);
  }

  /// Ends a posted receive with Outcome::cancelled: its completion object is signalled before the call
  /// returns. Returns false when the receive has already matched its message (or has ended): it then ends, or
  /// has ended, as if cancel() had not been called. A receive that was queued in the backlog (may_retry) ends
  /// soon, by progress, and its outcome says how, as for sends; use an endpoint of the device that it was
  /// posted on.
  bool cancel(const ReceiveHandle& handle) noexcept {
    const detail::EndpointEntry<Locking> entry(device(), "cancel");
    return Calls::cancel(device(), handle);
  }

  /// Asks for the end of a send that no receive has matched; use an endpoint of the device that it was posted
  /// on. Returns false when the send has ended already, as all that are not in the backlog and are no larger
  /// than a packet do at once. Otherwise it ends soon, once, and its outcome says how: cancelled, then no
  /// receive gets the message; else it has met its receive before. A message that was announced to the peer
  /// is cancelled by the peer's answer, so the peer has to progress. Any thread that may use the endpoint.
  bool cancel(const SendHandle& handle) noexcept {
    const detail::EndpointEntry<Locking> entry(device(), "cancel");
    return Calls::cancel(device(), handle);
  }

  /// Returns true when a message has arrived that a receive with these arguments would get, and describes it
  /// in `found`. Does not progress. If other threads receive too, one of them may get that message first: use
  /// matched_probe() then.
  [[nodiscard]] bool probe(int source, std::uint64_t tag, ProbedMessage& found,
                           const ReceiveOptions& options = {}) {
    const detail::EndpointEntry<Locking> entry(device(), "probe");
    return Calls::probe(device(), source, tag, found, options);
  }
  [[nodiscard]] bool probe(int source, AnyTag tag, ProbedMessage& found, const ReceiveOptions& options) {
    detail::require_ordered(options.engine, "probe");
    const detail::EndpointEntry<Locking> entry(device(), "probe");
    return Calls::probe(device(), source, tag, found, options);
  }
  /// Takes the message that a receive with these arguments would get out of the engine (a matched probe), so
  /// that the program can supply a buffer of the right length. Returns an empty MatchedMessage when there is
  /// none. Does not progress.
  [[nodiscard]] MatchedMessage matched_probe(int source, std::uint64_t tag,
                                             const ReceiveOptions& options = {}) {
    const detail::EndpointEntry<Locking> entry(device(), "matched_probe");
    return Calls::matched_probe(device(), source, tag, options);
  }
  [[nodiscard]] MatchedMessage matched_probe(int source, AnyTag tag, const ReceiveOptions& options) {
    detail::require_ordered(options.engine, "matched_probe");
    const detail::EndpointEntry<Locking> entry(device(), "matched_probe");
    return Calls::matched_probe(device(), source, tag, options);
  }
  /// Progresses until probe() finds a message (Outcome::ok), options.timeout has passed (timed_out), or no
  /// rank is left that could send it (peer_failed; see Runtime::failed_peers()). A message that another
  /// thread brings while this one sleeps is seen within the attribute park_timeout. Not inside handlers.
  Outcome wait_probe(int source, std::uint64_t tag, ProbedMessage& found, const ReceiveOptions& options = {},
                     const std::source_location& where = std::source_location::current()) {
    const detail::EndpointEntry<Locking> entry(device(), "wait_probe");
    return Calls::wait_probe(device(), source, tag, found, options, where);
  }
  Outcome wait_probe(int source, AnyTag tag, ProbedMessage& found, const ReceiveOptions& options,
                     const std::source_location& where = std::source_location::current()) {
    detail::require_ordered(options.engine, "wait_probe");
    return wait_probe(source, static_cast<std::uint64_t>(tag), found, options, where);
  }
  /// Progresses until matched_probe() has taken a message, which `found` holds then; otherwise as
  /// wait_probe().
  Outcome wait_matched_probe(int source, std::uint64_t tag, MatchedMessage& found,
                             const ReceiveOptions& options = {},
                             const std::source_location& where = std::source_location::current()) {
    const detail::EndpointEntry<Locking> entry(device(), "wait_matched_probe");
    return Calls::wait_matched_probe(device(), source, tag, found, options, where);
  }
  Outcome wait_matched_probe(int source, AnyTag tag, MatchedMessage& found, const ReceiveOptions& options,
                             const std::source_location& where = std::source_location::current()) {
    detail::require_ordered(options.engine, "wait_matched_probe");
    return wait_matched_probe(source, static_cast<std::uint64_t>(tag), found, options, where);
  }
  /// Receives a message that matched_probe() took out of the engine. Never answers retry. weft::Error with a
  /// timeout, since the message has arrived already.
  Status post_receive(MatchedMessage&& message, std::span<std::byte> buffer, const ReceiveOptions& options) {
    const detail::EndpointEntry<Locking> entry(device(), "post_receive");
    return Calls::post_receive_probed(device(), message, buffer, options);
  }

 protected:
  ~MatchedOperations() = default;

 private:
  using Calls = detail::MatchedCalls<Locking>;
  [[nodiscard, gnu::always_inline]] bool try_post_send(int peer, std::uint64_t tag, Bytes bytes,
                                                       const SendOptions& options) noexcept {
    // The options are read before any load with acquire, so that the compiler still knows their constants.
    const MatchingPolicy policy = options.policy;
    const std::uint16_t engine = options.engine;
    const std::uint8_t device = options.device;
    if (policy == MatchingPolicy::user || options.message_class != MessageClass::normal ||
        options.synchronous || !options.region.is_empty())
      return false;
    const bool is_ordered = engine >= kMatchingEngines;
    if (is_ordered && (policy != MatchingPolicy::rank_and_tag || tag == any_tag)) return false;
    const detail::DevicePath& path = static_cast<const Derived*>(this)->path();
    if (bytes.size() > detail::kSlotPayload - detail::kMatchTrailer) {
      const std::uint64_t to = detail::peer_and_device(peer, device);
      const std::uint64_t trailer =
          detail::match_trailer(engine, static_cast<std::uint8_t>(policy), path.own_device);
      return is_ordered
                 ? Calls::post_ordered_multi_slot_send(this->device(), to, tag, bytes.data(), bytes.size(),
                                                       trailer)
                 : Calls::post_multi_slot_send(this->device(), to, tag, bytes.data(), bytes.size(), trailer);
    }
    // Messages to an ordered engine all use one lane.
    detail::SendLane* lane = path.lane(
        peer, device, is_ordered ? detail::DevicePath::kFirstColumn : detail::column_of_post<Locking>());
    if (lane == nullptr) return false;
    const std::uint64_t trailer =
        detail::match_trailer(engine, static_cast<std::uint8_t>(policy), path.own_device);
    return is_ordered ? detail::post_ordered_slot<Locking>(*lane, tag, bytes, trailer, engine)
                      : detail::try_post_matched_slot<Locking>(*lane, tag, bytes, trailer);
  }
  [[nodiscard]] detail::DeviceState& device() const noexcept {
    return static_cast<const Derived*>(this)->state();
  }
  [[nodiscard, gnu::always_inline]] std::uint64_t word_of(const ContextTag& tag) const {
    tag.check(static_cast<const Derived*>(this)->path().runtime);
    return tag.word();
  }
};

}  // namespace weft
