// Operations on lists of buffers: the vectored part of an endpoint.
#pragma once

#include <weft/completion/completion.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/lock.hpp>
#include <weft/message.hpp>
#include <weft/options.hpp>
#include <weft/remote_region.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

#include <concepts>
#include <span>

namespace weft {

/// A list of buffers: std::vector<Bytes>, std::array<Bytes, N>, std::span<const Bytes>.
template <class List>
concept BytesList = std::convertible_to<const List&, std::span<const Bytes>> &&
    !std::convertible_to<const List&, ActiveMessageOptions>;

namespace detail {

class DeviceState;

/// What endpoints call out of line, by lock policy.
template <class Locking>
struct VectoredCalls {
  WEFT_API static Status post_am(DeviceState& device, int peer, RemoteCompletion remote, Bytes head,
                                 std::span<const Bytes> bodies, const ActiveMessageOptions& options);
  WEFT_API static Status post_put(DeviceState& device, int peer, std::span<const PutPiece> pieces,
                                  const AccessOptions& options);
  WEFT_API static Status post_get(DeviceState& device, int peer, std::span<const GetPiece> pieces,
                                  const AccessOptions& options);
};

extern template struct VectoredCalls<TryLock>;
extern template struct VectoredCalls<NoLock>;

WEFT_API void receive_bodies(Message& message, std::span<const MutableBytes> buffers, Completion& completion,
                             void* user_data);

}  // namespace detail

/// What Endpoint and SerialEndpoint inherit.
template <class Derived, class Locking>
class VectoredOperations {
 public:
  /// Posts an active message with a head, which the receiver can read at once, and any number of bodies,
  /// which it fetches into buffers of its own once it has read the head (Operation::vectored_message,
  /// Endpoint::receive_bodies): a parcel with zero-copy chunks. Never blocks; any thread that may use the
  /// endpoint.
  ///
  /// head: 0 bytes up to packet_bytes (DeviceAttributes). bodies: up to 1,048,576, each 0 to 2^62 bytes, and
  /// no more than that together. weft::Error beyond, and when `peer` is not a rank of the job. Without bodies
  /// it is post_am(peer, remote, head). The list of bodies may be reused when the call returns; head and
  /// bodies are borrowed until options.completion is signalled, once: Operation::active_message_sent, ok when
  /// the receiver has taken the bodies or does not want them, peer_failed when it has left. The receiver
  /// decides when; a message that it keeps occupies one of this device's `requests`.
  template <BytesList List>
  Status post_am(int peer, RemoteCompletion remote, Bytes head, const List& bodies,
                 const ActiveMessageOptions& options = {}) {
    return Calls::post_am(device(), peer, remote, head, bodies, options);
  }

  /// Receives the bodies of a message with Operation::vectored_message, which becomes empty, into
  /// `buffers`: one for each of message.body_sizes(), in their order. From the handler that was given the
  /// message, or later from any thread. Never answers retry, and does not progress.
  ///
  /// The list of buffers may be reused when the call returns; the buffers are borrowed until `completion` is
  /// signalled, once, with Operation::bodies, `user_data`, and the head as the payload: ok when all bodies
  /// are there whole; truncated when a buffer is shorter than its body (its rest is dropped, an empty buffer
  /// takes nothing); peer_failed when the sender has left. weft::Error, without effect, when the message has
  /// no bodies to be received, when there are not as many buffers as bodies, or when the device that the
  /// message has come to is closed.
  void receive_bodies(Message&& message, std::span<const MutableBytes> buffers, Completion& completion,
                      void* user_data = nullptr) {
    detail::receive_bodies(message, buffers, completion, user_data);
  }

  /// Puts all of `pieces` into regions of one peer, under one completion. Never blocks. A piece means what it
  /// means in post_put(peer, to, from), and so do the options; the pieces are not ordered.
  ///
  /// All pieces are checked before any starts (weft::Error). The list may be reused when the call returns;
  /// the sources are borrowed until done or completion, or without a completion object until flush().
  /// options.completion is signalled once, with Operation::put and no data: ok when all bytes are at the
  /// target; else as the first piece that failed, refused or peer_failed, when no other is under way any
  /// more. Pieces that had not started by then are not carried out; others may have been. options.signal is
  /// signalled once, after all pieces; not after a failure. retry: nothing has started. A post that may not
  /// retry answers that only when 256 of the device are under way. No pieces: it ends at once
  /// (weft::Error with a signal).
  Status post_put(int peer, std::span<const PutPiece> pieces, const AccessOptions& options = {}) {
    return Calls::post_put(device(), peer, pieces, options);
  }
  /// The same for gets: Operation::get.
  Status post_get(int peer, std::span<const GetPiece> pieces, const AccessOptions& options = {}) {
    return Calls::post_get(device(), peer, pieces, options);
  }

 protected:
  ~VectoredOperations() = default;

 private:
  using Calls = detail::VectoredCalls<Locking>;
  [[nodiscard]] detail::DeviceState& device() const noexcept {
    return static_cast<const Derived*>(this)->state();
  }
};

}  // namespace weft
