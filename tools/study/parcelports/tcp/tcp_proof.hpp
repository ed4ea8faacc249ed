// By which the ranks at both ends of a connection of the parcelport tcp show that they know the secret of the
// job.
#pragma once

#include <sodium.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "study/parcelports/tcp/tcp_frame.hpp"

namespace weft::parcel::ports::tcp {

using Secret = std::array<std::byte, crypto_auth_hmacsha256_KEYBYTES>;

/// Of all that both sides have said; each side's is of another letter.
inline Proof proof_of(char side, const Secret& secret, const Challenge& challenge, const Greeting& greeting) {
  constexpr std::size_t kSaid = offsetof(Greeting, proof);
  std::array<unsigned char, 16 + sizeof challenge + kSaid> text{"weft parcels"};
  text[15] = static_cast<unsigned char>(side);
  std::memcpy(text.data() + 16, &challenge, sizeof challenge);
  std::memcpy(text.data() + 16 + sizeof challenge, &greeting, kSaid);
  Proof proof;
  crypto_auth_hmacsha256(reinterpret_cast<unsigned char*>(proof.data()), text.data(), text.size(),
                         reinterpret_cast<const unsigned char*>(secret.data()));
  return proof;
}

inline bool are_equal(const Proof& a, const Proof& b) {
  return ::sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace weft::parcel::ports::tcp
