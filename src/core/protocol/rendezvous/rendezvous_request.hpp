// The records of the sender's half of a rendezvous.
#pragma once

#include "core/memory/gather.hpp"
#include "core/packet/packet_pool.hpp"
#include "core/protocol/rendezvous/request_state.hpp"
#include "core/protocol/wire.hpp"
#include "network/network.hpp"

#include <weft/options.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::core {

/// A large message of this rank until its buffer is free again.
struct RendezvousRequest {
  using State = BasicRequestState<>::State;
  RendezvousRequest* next = nullptr;
  BasicRequestState<> state;
  std::uint32_t index = 0;
  std::atomic<int> peer{0};
  Operation operation = Operation::active_message_sent;
  std::uint64_t tag = 0;
  const std::byte* data = nullptr;
  std::size_t size = 0;
  Completion* completion = nullptr;
  void* user_data = nullptr;
  MessageClass message_class = MessageClass::normal;
  GatherList gather;         // the payload, unless empty, in place of data
  std::uint16_t engine = 0;  // of a send
  bool needs_all_ranks = false;
  bool is_synchronous = false;
  Packet payload;        // unless empty, data lies in it
  network::Offer offer;  // of the payload to the peer; without a key when there is none
  // While streaming:
  RequestName transfer{};
  std::uint8_t transfer_device = 0;     // of the peer; before that, the device that got the RTS
  std::size_t wanted = 0;               // the peer has room for this many bytes ...
  std::atomic<std::size_t> granted{0};  // ... and accepts this many of them now
  std::size_t sent = 0;
  Packet packet;  // filled but not accepted by the network yet
  std::size_t packet_size = 0;
  bool is_put = false;  // into a landing of the peer, instead:
  network::RemoteLanding landing;
};

/// A request that a peer has named, and the state to be given to state.let_go(), or another one.
struct HeldRequest {
  RendezvousRequest* request = nullptr;
  RendezvousRequest::State before = RendezvousRequest::State::free;
};

}  // namespace weft::core
