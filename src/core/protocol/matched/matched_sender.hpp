// The sends of a device: each goes at once with its payload, for a credit, or is announced.
//
// Sources: send.cpp, send_in_order.cpp (to ordered engines).
#pragma once

#include "core/backlog/caller.hpp"
#include "core/matching/matching_engines.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/matched/lane_credits.hpp"
#include "core/protocol/matched/send_payload.hpp"
#include "core/protocol/rendezvous/rendezvous.hpp"
#include "core/protocol/wire.hpp"

#include <weft/detail/device_path.hpp>
#include <weft/options.hpp>
#include <weft/packet.hpp>
#include <weft/status.hpp>

namespace weft::core {

class MatchedSender {
 public:
  MatchedSender(const Context& context, detail::DevicePath& path, MatchingEngines& engines,
                SendCredits& credits, Rendezvous& large_messages) noexcept
      : context_(context), engines_(engines), rendezvous_(large_messages), credits_(path, credits) {}

  /// One attempt to send, with checked arguments. `packet`, unless null, holds the payload already, and is
  /// taken over unless the status is retry. `may_complete_now` false: the completion object is signalled in
  /// any case.
  Status attempt(int peer, std::uint64_t tag, const SendPayload& payload, const SendOptions& options,
                 Packet* packet, Caller caller) noexcept;
  /// attempt() for an ordered engine: this rank's with the id of the send's.
  Status attempt_ordered(MatchingEngine& engine, int peer, std::uint64_t tag, const SendPayload& payload,
                         const SendOptions& options, Packet* packet, Caller caller) noexcept;

  [[nodiscard]] LaneCredits& credits() noexcept { return credits_; }

 private:
  /// Returns true when a payload and its trailer are sent in slots, or by the network's equivalent of them.
  [[nodiscard]] bool goes_without_packet(int peer, std::size_t size) const noexcept;
  /// Returns true when the payload is sent by its post: a packet may hold less than slots do, and has room
  /// for any trailer.
  [[nodiscard]] bool goes_at_once(int peer, std::size_t size) const noexcept {
    return goes_without_packet(peer, size) || size <= context_.limits.packet_bytes;
  }
  Status send_at_once(int peer, std::uint64_t tag, const SendPayload& payload, const MatchTrailer& trailer,
                      const SendOptions& options, Packet* packet, Caller caller) noexcept;
  Status announce(int peer, std::uint64_t tag, const SendPayload& payload, const MatchTrailer& trailer,
                  const SendOptions& options, Packet* packet, Caller caller) noexcept;
  Status start_large(int peer, std::uint64_t tag, const SendPayload& payload, const MatchTrailer& trailer,
                     const SendOptions& options, Packet* packet, Caller caller,
                     network::SendResult& result) noexcept;
  Status sent(network::SendResult result, int peer, std::uint64_t tag, Bytes bytes,
              const SendOptions& options) noexcept;
  Status ended(bool lost, int peer, std::uint64_t tag, Bytes bytes, const SendOptions& options) noexcept;
  Status send_silently(int peer, std::uint64_t tag, const SendPayload& payload, const MatchTrailer& trailer,
                       const SendOptions& options, Packet* packet, Caller caller) noexcept;

  const Context& context_;
  MatchingEngines& engines_;
  Rendezvous& rendezvous_;
  LaneCredits credits_;
};

}  // namespace weft::core
