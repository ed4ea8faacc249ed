// Active messages of one device: their posts, and their delivery to the objects that they name.
#pragma once

#include "core/backlog/caller.hpp"
#include "core/completion/exposures.hpp"
#include "core/protocol/multi_slot.hpp"
#include "core/protocol/post_context.hpp"
#include "core/protocol/rendezvous/rendezvous.hpp"
#include "network/network.hpp"

#include <weft/completion/completion.hpp>
#include <weft/options.hpp>
#include <weft/packet.hpp>
#include <weft/status.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::core {

class ActiveMessages {
 public:
  ActiveMessages(const PostContext& posts, Rendezvous& rendezvous) noexcept;

  // Posts throw weft::Error for invalid arguments. A refused post is queued in the backlog when its options
  // ask for that, or when a handler posts.

  Status post(int peer, RemoteCompletion remote, Bytes bytes, const ActiveMessageOptions& options,
              Caller caller);
  /// Posts the first `size` bytes of the packet, which is taken over unless the status is retry.
  Status post_packet(int peer, RemoteCompletion remote, Packet& packet, std::size_t size,
                     const ActiveMessageOptions& options, Caller caller);
  /// Fast path of payloads larger than a slot and up to a packet. Returns false, without effect, when it does
  /// not apply; the caller then falls back to post().
  template <class Locking>
  bool try_post_multi_slot(int peer, RemoteCompletion remote, const std::byte* data, std::size_t size,
                           std::uint32_t tag) noexcept;
  /// Posts a message from the backlog again.
  Status post_again(PendingPost& post, Caller caller) noexcept;
  /// Ends a post that the network has accepted, or whose peer has left. Returns the status of the post.
  Status end_post(bool is_lost, int peer, const std::byte* data, std::size_t size,
                  const ActiveMessageOptions& options) noexcept;

  /// Delivers a single message to the object that its word names, or leaves it when there is no room for it
  /// now.
  void deliver(network::Batch& batch) noexcept;
  /// Delivers as deliver() does, but with one call for consecutive messages to one object, until the backlog
  /// is over its limit.
  template <class Batch>
  void deliver_batch(Batch& batch, detail::PayloadLender* lender) noexcept;
  /// Delivers a single message whose slot it frees before, so that the message cannot be left.
  void free_slot_and_deliver(network::Batch& batch) noexcept;

 private:
  template <class Locking>
  bool try_post_multi_slot_slow(detail::SendLane& lane, std::uint64_t word, const std::byte* data,
                                std::size_t size) noexcept;
  Status attempt(int peer, RemoteCompletion remote, Bytes bytes, const ActiveMessageOptions& options,
                 Caller caller) noexcept;
  Status attempt_packet(int peer, RemoteCompletion remote, Packet& packet, std::size_t size,
                        const std::byte* source, const ActiveMessageOptions& options, Caller caller) noexcept;
  Status enqueue(Status refused, int peer, RemoteCompletion remote, Bytes bytes, Packet* packet,
                 const ActiveMessageOptions& options) noexcept;
  bool deliver_copy(Completion& completion, std::uint64_t word, const Message& message) noexcept;
  void deliver_copy(Completion& completion, network::Batch& batch) noexcept;
  [[gnu::noinline]] void deliver_copy_at_once(Completion& completion, std::uint64_t word,
                                              Message& message) noexcept;
  void refuse(std::uint64_t word, int peer) noexcept;

  const PostContext posts_;
  Rendezvous& rendezvous_;
  detail::Exposures& exposures_;
  const std::uint32_t device_;
  MultiSlotWriter multi_slot_;
};

}  // namespace weft::core
