// What devices tell each other before their queue pairs are connected. docs/internals/wire.md has the same in
// prose.
#pragma once

#include <array>
#include <cstdint>

namespace weft::network::ibv {

/// Address of a device, as it publishes it through the bootstrap.
struct Address {
  std::array<std::uint8_t, 16> gid;
  std::uint32_t queue_pair;  // for datagrams
  std::uint32_t queue_key;   // of these datagrams
  std::uint16_t lid;         // InfiniBand
  std::uint8_t mtu;          // of ibv_mtu
  std::uint8_t reads;        // that peers may have under way to a queue pair
};
static_assert(sizeof(Address) == 28);

/// What a queue pair is for.
enum class Purpose : std::uint8_t {
  messages,  // of both ranks
  accesses,  // puts, gets and atomic operations of this rank
  accessed,  // those of the peer
};
/// The same at the other end.
[[nodiscard]] constexpr Purpose at_other_end(Purpose purpose) noexcept {
  return purpose == Purpose::accesses   ? Purpose::accessed
         : purpose == Purpose::accessed ? Purpose::accesses
                                        : Purpose::messages;
}

inline constexpr std::uint32_t kCardMagic = 0x43494657;  // "WFIC"

/// A datagram by which a device tells another which queue pair it has made for it. Repeated until both know
/// that the other is ready.
struct Card {
  std::uint32_t magic;
  std::uint32_t version;  // kWireVersion
  std::uint32_t rank;     // of the sender, as what follows
  std::uint8_t device;
  std::uint8_t is_ready;  // 1: the sender has the receiver's card, and its queue pair receives
  std::uint8_t is_done;   // 1: and knows that the receiver's does
  std::uint8_t round;     // 0: for messages; else the how-manieth of its purpose between the two devices
  std::uint32_t queue_pair;
  std::uint32_t first_packet;  // number of the first packet that the queue pair sends
  Purpose purpose;             // of the queue pair, for the sender
  std::array<std::uint8_t, 3> zero;
  std::array<char, 64> job_id;  // text, ends with a zero byte
};
static_assert(sizeof(Card) == 92);

}  // namespace weft::network::ibv
