// Operations on lists of buffers: the vectored part of an endpoint.
#pragma once

#include <weft/completion/completion.hpp>
#include <weft/detail/endpoint_entry.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/lock.hpp>
#include <weft/endpoint/matched.hpp>
#include <weft/message.hpp>
#include <weft/options.hpp>
#include <weft/remote_region.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

#include <concepts>
#include <cstdint>
#include <source_location>
#include <span>

namespace weft {

/// A list of buffers to be read: std::vector<Bytes>, std::array<Bytes, N>, std::span<const Bytes>.
template <class List>
concept BytesList = std::convertible_to<const List&, std::span<const Bytes>> &&
    !std::convertible_to<const List&, ActiveMessageOptions>;
/// A list of buffers to be filled: std::vector<MutableBytes>, ...
template <class List>
concept MutableBytesList = std::convertible_to<const List&, std::span<const MutableBytes>>;

namespace detail {

class DeviceState;

/// The library's side of vectored operations, by lock policy.
template <class Locking>
struct VectoredCalls {
  WEFT_API static Status post_am(DeviceState& device, int peer, RemoteCompletion remote, Bytes head,
                                 std::span<const Bytes> parts, const ActiveMessageOptions& options);
  WEFT_API static Status post_send(DeviceState& device, int peer, std::uint64_t tag,
                                   std::span<const Bytes> parts, const SendOptions& options);
  WEFT_API static Outcome send(DeviceState& device, int peer, std::uint64_t tag, std::span<const Bytes> parts,
                               const SendOptions& options, const std::source_location& where);
  WEFT_API static Status post_receive(DeviceState& device, int source, std::uint64_t tag,
                                      std::span<const MutableBytes> buffers, const ReceiveOptions& options);
  WEFT_API static Message receive(DeviceState& device, int source, std::uint64_t tag,
                                  std::span<const MutableBytes> buffers, const ReceiveOptions& options,
                                  const std::source_location& where);
  WEFT_API static Status post_put(DeviceState& device, int peer, std::span<const PutPiece> pieces,
                                  const AccessOptions& options);
  WEFT_API static Status post_get(DeviceState& device, int peer, std::span<const GetPiece> pieces,
                                  const AccessOptions& options);
};

extern template struct VectoredCalls<TryLock>;
extern template struct VectoredCalls<NoLock>;

WEFT_API void receive_parts(Message& message, std::span<const MutableBytes> buffers, Completion& completion,
                            void* user_data);

}  // namespace detail

/// The vectored operations of Endpoint and SerialEndpoint, which inherit them.
template <class Derived, class Locking>
class VectoredOperations {
 public:
  /// Posts an active message with a head, which the receiver can read at once, and any number of parts,
  /// which it fetches into buffers of its own once it has read the head (Operation::multipart_message,
  /// Endpoint::receive_parts): a parcel with zero-copy chunks. Never blocks; any thread that may use the
  /// endpoint.
  ///
  /// head: 0 bytes up to packet_bytes (DeviceAttributes). parts: up to 1,048,576, each 0 to 2^62 bytes, and
  /// no more than that together. weft::Error beyond, and when `peer` is not a rank of the job. Without parts
  /// it is post_am(peer, remote, head). The list of parts may be reused when the call returns; head and parts
  /// are borrowed until options.completion is signalled, once: Operation::active_message_sent, ok when the
  /// receiver has taken the parts or does not want them, peer_failed when it has left. The receiver decides
  /// when; until then the message occupies one of this device's `requests`. weft::Error with a timeout.
  template <BytesList List>
  Status post_am(int peer, RemoteCompletion remote, Bytes head, const List& parts,
                 const ActiveMessageOptions& options = {}) {
    const detail::EndpointEntry<Locking> entry(device(), "post_am");
    return Calls::post_am(device(), peer, remote, head, parts, options);
  }

  /// Receives the parts of a message with Operation::multipart_message, which becomes empty, into
  /// `buffers`: one for each of message.part_sizes(), in their order. From the handler that was given the
  /// message, or later from any thread. Never answers retry, and does not progress.
  ///
  /// The list of buffers may be reused when the call returns; the buffers are borrowed until `completion` is
  /// signalled, once, with Operation::parts, `user_data`, and the head as the payload: ok when all parts are
  /// there whole; truncated when a buffer is shorter than its part (the rest of the part is dropped, an empty
  /// buffer receives nothing); peer_failed when the sender has left. weft::Error, without effect, when the
  /// message has no parts to be received, when there are not as many buffers as parts, or when the device
  /// that received the message is closed.
  void receive_parts(Message&& message, std::span<const MutableBytes> buffers, Completion& completion,
                     void* user_data = nullptr) {
    detail::receive_parts(message, buffers, completion, user_data);
  }

  /// Posts a send whose payload is `parts`, one behind the other: the receiver cannot tell it from a send of
  /// one buffer with the same bytes. Arguments, answers and errors are those of post_send(peer, tag, bytes),
  /// except that the list may be reused when the call returns, and that the parts are borrowed until done or
  /// completion, whose Message has no data. Up to packet_size in all is copied when it is posted; more is
  /// copied part by part into the packets in which it travels, without the receiver reading it from this
  /// rank's memory (attribute `rendezvous`).
  template <BytesList List>
  Status post_send(int peer, std::uint64_t tag, const List& parts, const SendOptions& options = {}) {
    const detail::EndpointEntry<Locking> entry(device(), "post_send");
    if (options.handle != nullptr) *options.handle = SendHandle();
    return Calls::post_send(device(), peer, tag, parts, options);
  }
  /// post_send that progresses until the post is accepted and, without a completion object, until the parts
  /// may be reused, or options.timeout has passed. Returns the same outcomes as send(peer, tag, bytes). Not
  /// inside handlers.
  template <BytesList List>
  Outcome send(int peer, std::uint64_t tag, const List& parts, const SendOptions& options = {},
               const std::source_location& where = std::source_location::current()) {
    const detail::EndpointEntry<Locking> entry(device(), "send");
    if (options.handle != nullptr) *options.handle = SendHandle();
    return Calls::send(device(), peer, tag, parts, options, where);
  }

  /// Posts a receive whose message fills `buffers`, one after the other, each up to its end. It matches as
  /// post_receive(source, tag, buffer) does. The list may be reused when the call returns; the buffers are
  /// borrowed until options.completion is signalled: data() and size() of its Message are the part in the
  /// first buffer, length() is what the sender sent, and the outcome is truncated when that is more than all
  /// buffers hold. A message that has arrived already is received during the post, but with more than one
  /// buffer the answer is then not done: may_complete_now and `arrived` have no effect. retry(no_request): as
  /// many receives with lists are posted as the engine has records. weft::Error with more than 2^62 bytes of
  /// room.
  template <MutableBytesList List>
  Status post_receive(int source, std::uint64_t tag, const List& buffers, const ReceiveOptions& options) {
    const detail::EndpointEntry<Locking> entry(device(), "post_receive");
    return Calls::post_receive(device(), source, tag, buffers, options);
  }
  /// Posts a receive into a list of buffers that matches any tag, on an ordered engine; weft::Error when the
  /// engine is not an ordered one.
  template <MutableBytesList List>
  Status post_receive(int source, AnyTag tag, const List& buffers, const ReceiveOptions& options) {
    detail::require_ordered(options.engine, "post_receive");
    const detail::EndpointEntry<Locking> entry(device(), "post_receive");
    return Calls::post_receive(device(), source, tag, buffers, options);
  }
  /// Receives a message: progresses until it is in `buffers`, or options.timeout has passed.
  /// options.completion is not used. Not inside handlers.
  template <MutableBytesList List>
  Message receive(int source, std::uint64_t tag, const List& buffers, const ReceiveOptions& options = {},
                  const std::source_location& where = std::source_location::current()) {
    const detail::EndpointEntry<Locking> entry(device(), "receive");
    return Calls::receive(device(), source, tag, buffers, options, where);
  }
  template <MutableBytesList List>
  Message receive(int source, AnyTag tag, const List& buffers, const ReceiveOptions& options,
                  const std::source_location& where = std::source_location::current()) {
    detail::require_ordered(options.engine, "receive");
    const detail::EndpointEntry<Locking> entry(device(), "receive");
    return Calls::receive(device(), source, tag, buffers, options, where);
  }

  // The same in a matching context; see MatchedOperations.

  template <BytesList List>
  Status post_send(int peer, const ContextTag& tag, const List& parts, const SendOptions& options = {}) {
    return post_send(peer, word_of(tag), parts, detail::in_context(tag, options));
  }
  template <BytesList List>
  Outcome send(int peer, const ContextTag& tag, const List& parts, const SendOptions& options = {},
               const std::source_location& where = std::source_location::current()) {
    return send(peer, word_of(tag), parts, detail::in_context(tag, options), where);
  }
  template <MutableBytesList List>
  Status post_receive(int source, const ContextTag& tag, const List& buffers, const ReceiveOptions& options) {
    return post_receive(source, word_of(tag), buffers, detail::in_context(tag, options));
  }
  template <MutableBytesList List>
  Message receive(int source, const ContextTag& tag, const List& buffers, const ReceiveOptions& options = {},
                  const std::source_location& where = std::source_location::current()) {
    return receive(source, word_of(tag), buffers, detail::in_context(tag, options), where);
  }

  /// Puts all of `pieces` into regions of one peer, under one completion. Never blocks. A piece means what it
  /// means in post_put(peer, to, from), and so do the options; the pieces are not ordered.
  ///
  /// All pieces are checked before any of them starts (weft::Error). The list may be reused when the call
  /// returns; the sources are borrowed until done or completion, or without a completion object until
  /// flush(). options.completion is signalled once, with Operation::put and no data: ok when all bytes are at
  /// the target; else the outcome of the first piece that failed, refused or peer_failed, once no other piece
  /// is under way. Pieces that had not started by then are not carried out; others may have been.
  /// options.signal is signalled once, after all pieces; not after a failure. retry: nothing has started. A
  /// post with may_retry = false answers retry only when 256 vectored accesses of the device are under way.
  /// Without pieces the operation ends at once (weft::Error with a signal).
  Status post_put(int peer, std::span<const PutPiece> pieces, const AccessOptions& options = {}) {
    const detail::EndpointEntry<Locking> entry(device(), "post_put");
    return Calls::post_put(device(), peer, pieces, options);
  }
  /// Gets all of `pieces` from regions of one peer, under one completion, which is signalled with
  /// Operation::get. See post_put(peer, pieces) for arguments, answers and errors.
  Status post_get(int peer, std::span<const GetPiece> pieces, const AccessOptions& options = {}) {
    const detail::EndpointEntry<Locking> entry(device(), "post_get");
    return Calls::post_get(device(), peer, pieces, options);
  }

 protected:
  ~VectoredOperations() = default;

 private:
  using Calls = detail::VectoredCalls<Locking>;
  [[nodiscard]] detail::DeviceState& device() const noexcept {
    return static_cast<const Derived*>(this)->state();
  }
  [[nodiscard]] std::uint64_t word_of(const ContextTag& tag) const {
    tag.check(static_cast<const Derived*>(this)->path().runtime);
    return tag.word();
  }
};

}  // namespace weft
