// Keys from secrets: a secret is the key of nothing but this.
#pragma once

#include "sockets/greeting.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace weft::sockets {

/// A key for one purpose (at most 31 letters) from a secret and what both sides know: keyed BLAKE2b. After
/// prepare_greetings().
[[nodiscard]] Key derive(Secret secret, std::string_view purpose, std::span<const std::byte> known) noexcept;
/// A secret of any length of 1 or more, as a person has written it.
[[nodiscard]] Key secret_of_text(std::string_view text) noexcept;

/// For two that have no secret in common yet: each sends its public half (X25519). Who only listens learns
/// nothing of the shared secret; who can change what is sent can be either of them.
using PublicKey = std::array<std::byte, 32>;
struct KeyPair {
  PublicKey known_to_all{};
  Key own{};
};
[[nodiscard]] KeyPair make_key_pair() noexcept;
/// False when the other half is one that nobody makes by chance; `shared` then means nothing.
[[nodiscard]] bool agree(const KeyPair& own, const PublicKey& other, Key& shared) noexcept;

/// Encrypts in a way that tells changes, once for each key. The result is 16 bytes longer.
inline constexpr std::size_t kSealBytes = 16;
void seal_once(const Key& key, std::span<const std::byte> text, std::span<std::byte> sealed) noexcept;
/// `text` is 16 bytes shorter. False when the bytes are not what was sealed with the key.
[[nodiscard]] bool unseal_once(const Key& key, std::span<const std::byte> sealed,
                               std::span<std::byte> text) noexcept;

}  // namespace weft::sockets
