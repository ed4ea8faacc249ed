// What rank 0 and another rank send each other when they meet:
//
//   rank 0                                        another rank
//   Greeting (nonce, key)                    -->
//                                            <--  Arrival (who, nonce, key; its card, sealed)
//   ResultHead, and the cards of all or a text, sealed  -->
//
// Both seal with keys that come from what both have said, from a secret that X25519 gives them, and from
// WEFT_JOB_SECRET, of which nothing is sent: what can be unsealed is of one who knows it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bootstrap/launchers/sized_card.hpp"
#include "sockets/key_derivation.hpp"

namespace weft::bootstrap::contact {

inline constexpr std::uint32_t kArrivalMagic = 0x45544657;  // "WFTE"
inline constexpr std::uint32_t kArrivalVersion = 2;

struct Greeting {
  std::uint32_t magic = kArrivalMagic;
  std::uint32_t version = kArrivalVersion;
  std::uint32_t has_secret = 0;  // WEFT_JOB_SECRET is set
  std::uint32_t zero = 0;
  sockets::Nonce nonce{};
  sockets::PublicKey key{};
};
static_assert(sizeof(Greeting) == 64);

struct Arrival {
  std::uint32_t magic = kArrivalMagic;
  std::uint32_t version = kArrivalVersion;
  std::uint32_t has_secret = 0;
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::uint32_t zero = 0;
  sockets::Nonce nonce{};
  sockets::PublicKey key{};
  std::array<std::byte, sizeof(SizedCard) + sockets::kSealBytes> sealed{};
};
static_assert(sizeof(Arrival) == 72 + sizeof(SizedCard) + sockets::kSealBytes);

enum class ResultKind : std::uint32_t {
  cards = 1,   // SizedCard of each rank, sealed
  text,        // why the rank cannot be one, sealed
  unreadable,  // nothing: the arrival could not be unsealed
};
struct ResultHead {
  std::uint32_t magic = kArrivalMagic;
  ResultKind kind = ResultKind::unreadable;
  std::uint32_t bytes = 0;  // that follow
  std::uint32_t zero = 0;
};

/// What is sent or received of such an object.
template <class Object>
std::span<std::byte> bytes_of(Object& object) {
  return std::as_writable_bytes(std::span(&object, 1));
}

/// Seconds in which a rank takes the result.
inline constexpr double kResultTime = 5.0;
/// Longest text of a result.
inline constexpr std::size_t kMostText = 4096;

/// Of one meeting.
struct MeetingKeys {
  sockets::Key arrival;
  sockets::Key result;
};
/// Nothing when the other side's key is none.
[[nodiscard]] std::optional<MeetingKeys> keys_of(const sockets::KeyPair& own, const sockets::PublicKey& other,
                                                 const Greeting& greeting, const Arrival& arrival);

/// The whole of a result.
[[nodiscard]] std::vector<std::byte> sealed_result(ResultKind kind, const sockets::Key& key,
                                                   std::span<const std::byte> content);
/// False when the bytes are no result of this kind; `content` is kSealBytes shorter.
[[nodiscard]] bool unseal_result(ResultKind kind, const sockets::Key& key, std::span<const std::byte> sealed,
                                 std::span<std::byte> content);

}  // namespace weft::bootstrap::contact
