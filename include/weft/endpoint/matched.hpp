// Sends and receives that a matching engine pairs: the two-sided part of an endpoint.
#pragma once

#include <weft/detail/device_path.hpp>
#include <weft/detail/end_in_post.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/lock.hpp>
#include <weft/matching.hpp>
#include <weft/message.hpp>
#include <weft/options.hpp>
#include <weft/packet.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

#include <cstdint>
#include <source_location>
#include <span>

namespace weft {

namespace detail {

class DeviceState;

/// Both in one argument: the peer's device above bit 32.
[[nodiscard]] constexpr std::uint64_t peer_and_device(int peer, std::uint8_t device) noexcept {
  return static_cast<std::uint64_t>(device) << 32 | static_cast<std::uint32_t>(peer);
}

/// What endpoints call out of line, by lock policy.
template <class Locking>
struct MatchedCalls {
  WEFT_API static Status post_send(DeviceState& device, int peer, std::uint64_t tag, Bytes bytes,
                                   const SendOptions& options);
  /// A payload of more than a slot and up to a packet, of the class normal and to an unordered engine, where
  /// it fits at once; `trailer` as match_trailer() makes it. False, without effect: post_send() knows.
  WEFT_API static bool post_wide_send(DeviceState& device, std::uint64_t peer_and_device, std::uint64_t tag,
                                      const std::byte* data, std::size_t size,
                                      std::uint64_t trailer) noexcept;
  WEFT_API static Status post_send_packet(DeviceState& device, int peer, std::uint64_t tag, Packet& packet,
                                          std::size_t size, const SendOptions& options);
  WEFT_API static Outcome send(DeviceState& device, int peer, std::uint64_t tag, Bytes bytes,
                               const SendOptions& options, const std::source_location& where);
  WEFT_API static Status post_receive(DeviceState& device, int source, std::uint64_t tag,
                                      std::span<std::byte> buffer, const ReceiveOptions& options);
  /// A receive by rank and tag on an unordered engine, with a completion object and without a handle or
  /// timeout, where it fits at once. kMayCompleteNow, engine above bit 32, source below: arguments in
  /// registers, options never in memory. False, without effect: post_other_receive() knows.
  WEFT_API static bool post_first_receive(DeviceState& device, std::uint64_t engine_and_source,
                                          std::uint64_t tag, std::byte* data, std::size_t size,
                                          Completion* completion) noexcept;
  /// The same with user data.
  WEFT_API static bool post_first_receive(DeviceState& device, std::uint64_t engine_and_source,
                                          std::uint64_t tag, std::byte* data, std::size_t size,
                                          Completion* completion, void* user_data) noexcept;
  /// Both on an ordered engine, for a tag that is not any_tag. False, without effect: post_receive() knows.
  WEFT_API static bool post_first_ordered_receive(DeviceState& device, std::uint64_t engine_and_source,
                                                  std::uint64_t tag, std::byte* data, std::size_t size,
                                                  Completion* completion) noexcept;
  WEFT_API static bool post_first_ordered_receive(DeviceState& device, std::uint64_t engine_and_source,
                                                  std::uint64_t tag, std::byte* data, std::size_t size,
                                                  Completion* completion, void* user_data) noexcept;
  WEFT_API static Status post_other_receive(DeviceState& device, int source, std::uint64_t tag,
                                            std::span<std::byte> buffer, const ReceiveOptions& options);
  /// The same with a timeout.
  WEFT_API static Status post_receive_within(DeviceState& device, int source, std::uint64_t tag,
                                             std::span<std::byte> buffer, const ReceiveOptions& options);
  WEFT_API static Message receive(DeviceState& device, int source, std::uint64_t tag,
                                  std::span<std::byte> buffer, const ReceiveOptions& options,
                                  const std::source_location& where);
  WEFT_API static bool cancel(DeviceState& device, const ReceiveHandle& handle) noexcept;
  WEFT_API static bool probe(DeviceState& device, int source, std::uint64_t tag, ProbedMessage& found,
                             const ReceiveOptions& options);
  WEFT_API static ArrivedMessage take_arrived(DeviceState& device, int source, std::uint64_t tag,
                                              const ReceiveOptions& options);
  WEFT_API static Status post_receive_arrived(DeviceState& device, ArrivedMessage& message,
                                              std::span<std::byte> buffer, const ReceiveOptions& options);
};

/// Throws weft::Error when the engine is not an ordered one.
WEFT_API void require_ordered(std::uint16_t engine, const char* operation);

extern template struct MatchedCalls<TryLock>;
extern template struct MatchedCalls<NoLock>;

}  // namespace detail

/// What Endpoint and SerialEndpoint inherit. A send and a receive meet when they name the same engine, the
/// same policy, and what the policy compares is equal: out of order, but first come first served under one
/// key. On an ordered engine (MatchOrder) they meet in MPI's order, and receives and probes may name
/// any_source and any_tag; weft::Error elsewhere.
///
/// The posting order of an ordered engine is that of the posts of one thread, and of several threads as far
/// as the program orders them; of receives that had to be kept for retry, that of the posts of one device. A
/// send that answered retry has no place in the order.
template <class Derived, class Locking>
class MatchedOperations {
 public:
  /// Posts a send: a receive of `peer` is filled with the payload.
  ///
  /// peer: a rank, 0 to size - 1, oneself included. tag: any 64 bits, but for any_tag on ordered engines.
  /// bytes: 0 to 2^62 bytes; borrowed until done or completion. While a message waits for its receive it
  /// occupies a credit (attribute unexpected_credits, per sending device and receiving device); without one,
  /// and beyond packet_size, the peer is told of the message and fetches it when its receive is posted;
  /// without a credit and without a completion object the answer is retry(no_credit). Throws weft::Error for
  /// a peer or engine out of range.
  [[gnu::always_inline]] Status post_send(int peer, std::uint64_t tag, Bytes bytes,
                                          const SendOptions& options = {}) {
    if (send_by_lane(peer, tag, bytes, options)) [[likely]]
      return detail::end_in_post(device(), Operation::send, peer, tag, bytes, options);
    const SendOptions given =
        options;  // a copy: what is passed on lies in memory, what is only read does not
    return Calls::post_send(device(), peer, tag, bytes, given);
  }
  /// The same with a payload of `size` bytes that was assembled in `packet`, which is taken over unless the
  /// answer is retry.
  Status post_send(int peer, std::uint64_t tag, Packet&& packet, std::size_t size,
                   const SendOptions& options = {}) {
    return Calls::post_send_packet(device(), peer, tag, packet, size, options);
  }
  /// post_send that progresses until the post is accepted and, without a completion object, until the payload
  /// may be reused, or options.timeout has passed. Returns how it ended, ok where options.completion is told.
  /// Not inside handlers.
  [[gnu::always_inline]] Outcome send(int peer, std::uint64_t tag, Bytes bytes,
                                      const SendOptions& options = {},
                                      const std::source_location& where = std::source_location::current()) {
    if (send_by_lane(peer, tag, bytes, options)) [[likely]] {
      static_cast<void>(detail::end_in_post(device(), Operation::send, peer, tag, bytes, options));
      return Outcome::ok;
    }
    const SendOptions given = options;
    return Calls::send(device(), peer, tag, bytes, given, where);
  }

  /// Posts a receive into `buffer`, which is borrowed until completion. Any number may be posted before,
  /// while and after messages arrive, up to the attribute matching_records.
  ///
  /// source: a rank, or any_source on an ordered engine; not looked at with MatchingPolicy::tag_only and any.
  /// options.completion is signalled with a Message whose data() is the buffer, peer() the sender and tag()
  /// the sender's tag (with MatchingPolicy::user: the key); a message longer than the buffer ends as
  /// Outcome::truncated with the real length().
  [[gnu::always_inline]] Status post_receive(int source, std::uint64_t tag, std::span<std::byte> buffer,
                                             const ReceiveOptions& options) {
    // Here, where options are known when the program is compiled.
    const bool has_timeout = options.timeout.count() != 0;
    const bool is_usual = options.completion != nullptr && options.policy == MatchingPolicy::rank_and_tag &&
                          options.handle == nullptr && !has_timeout;
    const std::uint64_t engine_and_source = (options.may_complete_now ? detail::kMayCompleteNow : 0) |
                                            static_cast<std::uint64_t>(options.engine) << 32 |
                                            static_cast<std::uint32_t>(source);
    if (is_usual && options.engine < kMatchingEngines) [[likely]] {
      const bool is_posted =
          options.user_data == nullptr
              ? Calls::post_first_receive(device(), engine_and_source, tag, buffer.data(), buffer.size(),
                                          options.completion)
              : Calls::post_first_receive(device(), engine_and_source, tag, buffer.data(), buffer.size(),
                                          options.completion, options.user_data);
      if (is_posted) [[likely]]
        return Status::posted();
      const ReceiveOptions given = options;  // as in post_send()
      return Calls::post_other_receive(device(), source, tag, buffer, given);
    }
    if (is_usual && options.engine >= kMatchingEngines && tag != any_tag) {
      const bool is_posted =
          options.user_data == nullptr
              ? Calls::post_first_ordered_receive(device(), engine_and_source, tag, buffer.data(),
                                                  buffer.size(), options.completion)
              : Calls::post_first_ordered_receive(device(), engine_and_source, tag, buffer.data(),
                                                  buffer.size(), options.completion, options.user_data);
      if (is_posted) [[likely]]
        return Status::posted();
    }
    const ReceiveOptions given = options;
    return has_timeout ? Calls::post_receive_within(device(), source, tag, buffer, given)
                       : Calls::post_receive(device(), source, tag, buffer, given);
  }
  /// The same for whatever tag, on an ordered engine.
  Status post_receive(int source, AnyTag tag, std::span<std::byte> buffer, const ReceiveOptions& options) {
    detail::require_ordered(options.engine, "post_receive");
    return post_receive(source, static_cast<std::uint64_t>(tag), buffer, options);
  }
  /// Progresses until the message is in `buffer`, or options.timeout has passed (Outcome::timed_out).
  /// options.completion is not used. Not inside handlers.
  Message receive(int source, std::uint64_t tag, std::span<std::byte> buffer,
                  const ReceiveOptions& options = {},
                  const std::source_location& where = std::source_location::current()) {
    return Calls::receive(device(), source, tag, buffer, options, where);
  }
  Message receive(int source, AnyTag tag, std::span<std::byte> buffer, const ReceiveOptions& options,
                  const std::source_location& where = std::source_location::current()) {
    detail::require_ordered(options.engine, "receive");
    return Calls::receive(device(), source, tag, buffer, options, where);
  }

  /// Ends a posted receive with Outcome::cancelled: its completion object is signalled before the call
  /// returns. False: the receive has met its message (or ended); it ends, or ended, as if nothing had been
  /// called.
  bool cancel(const ReceiveHandle& handle) noexcept { return Calls::cancel(device(), handle); }

  /// Whether a message has arrived that such a receive would get, and what it is. Does not progress. With
  /// other threads receiving, it may be gone by the time of the receive: use take_arrived() then.
  [[nodiscard]] bool probe(int source, std::uint64_t tag, ProbedMessage& found,
                           const ReceiveOptions& options = {}) {
    return Calls::probe(device(), source, tag, found, options);
  }
  [[nodiscard]] bool probe(int source, AnyTag tag, ProbedMessage& found, const ReceiveOptions& options) {
    detail::require_ordered(options.engine, "probe");
    return Calls::probe(device(), source, tag, found, options);
  }
  /// Takes such a message out of the engine (a matched probe), so that a buffer of the right length can be
  /// found for it. Empty: there is none. Does not progress.
  [[nodiscard]] ArrivedMessage take_arrived(int source, std::uint64_t tag,
                                            const ReceiveOptions& options = {}) {
    return Calls::take_arrived(device(), source, tag, options);
  }
  [[nodiscard]] ArrivedMessage take_arrived(int source, AnyTag tag, const ReceiveOptions& options) {
    detail::require_ordered(options.engine, "take_arrived");
    return Calls::take_arrived(device(), source, tag, options);
  }
  /// Receives a message that take_arrived() took. Never answers retry. It has arrived: weft::Error with a
  /// timeout.
  Status post_receive(ArrivedMessage&& message, std::span<std::byte> buffer, const ReceiveOptions& options) {
    return Calls::post_receive_arrived(device(), message, buffer, options);
  }

 protected:
  ~MatchedOperations() = default;

 private:
  using Calls = detail::MatchedCalls<Locking>;
  [[nodiscard, gnu::always_inline]] bool send_by_lane(int peer, std::uint64_t tag, Bytes bytes,
                                                      const SendOptions& options) noexcept {
    // Read before anything that is loaded with acquire, so that constants stay constants.
    const MatchingPolicy policy = options.policy;
    const std::uint16_t engine = options.engine;
    const std::uint8_t device = options.device;
    if (policy == MatchingPolicy::user || options.message_class != MessageClass::normal) return false;
    const bool is_ordered = engine >= kMatchingEngines;
    if (is_ordered && (policy != MatchingPolicy::rank_and_tag || tag == any_tag)) return false;
    const detail::DevicePath& path = static_cast<const Derived*>(this)->path();
    if (bytes.size() > detail::kSlotPayload - detail::kMatchTrailer) {
      return !is_ordered &&
             Calls::post_wide_send(
                 this->device(), detail::peer_and_device(peer, device), tag, bytes.data(), bytes.size(),
                 detail::match_trailer(engine, static_cast<std::uint8_t>(policy), path.own_device));
    }
    // What has an order goes one way.
    detail::SendLane* lane = path.lane(
        peer, device, is_ordered ? detail::DevicePath::kFirstColumn : detail::column_of_post<Locking>());
    if (lane == nullptr) return false;
    const std::uint64_t trailer =
        detail::match_trailer(engine, static_cast<std::uint8_t>(policy), path.own_device);
    return is_ordered ? detail::post_ordered_slot<Locking>(*lane, tag, bytes, trailer, engine)
                      : detail::post_matched_slot<Locking>(*lane, tag, bytes, trailer);
  }
  [[nodiscard]] detail::DeviceState& device() const noexcept {
    return static_cast<const Derived*>(this)->state();
  }
};

}  // namespace weft
