#include "sockets/key_derivation.hpp"

#include <sodium.h>

#include <algorithm>

namespace weft::sockets {

namespace {

unsigned char* raw(std::byte* bytes) noexcept { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* raw(const std::byte* bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes);
}

static_assert(sizeof(Key) == crypto_generichash_KEYBYTES && sizeof(Key) == crypto_scalarmult_BYTES &&
              sizeof(Key) == crypto_aead_chacha20poly1305_ietf_KEYBYTES &&
              kSealBytes == crypto_aead_chacha20poly1305_ietf_ABYTES);

// Each key seals one text.
constexpr std::array<unsigned char, crypto_aead_chacha20poly1305_ietf_NPUBBYTES> kFirst{};

}  // namespace

Key derive(Secret secret, std::string_view purpose, std::span<const std::byte> known) noexcept {
  std::array<char, 32> name{};
  purpose.copy(name.data(), name.size() - 1);
  crypto_generichash_state state;
  Key key;
  crypto_generichash_init(&state, raw(secret.data()), secret.size(), key.size());
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(name.data()), name.size());
  crypto_generichash_update(&state, raw(known.data()), known.size());
  crypto_generichash_final(&state, raw(key.data()), key.size());
  return key;
}

Key secret_of_text(std::string_view text) noexcept {
  Key key;
  crypto_generichash(raw(key.data()), key.size(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size(), nullptr, 0);
  return key;
}

KeyPair make_key_pair() noexcept {
  KeyPair pair;
  ::randombytes_buf(pair.own.data(), pair.own.size());
  crypto_scalarmult_base(raw(pair.known_to_all.data()), raw(pair.own.data()));
  return pair;
}

bool agree(const KeyPair& own, const PublicKey& other, Key& shared) noexcept {
  return crypto_scalarmult(raw(shared.data()), raw(own.own.data()), raw(other.data())) == 0;
}

void seal_once(const Key& key, std::span<const std::byte> text, std::span<std::byte> sealed) noexcept {
  crypto_aead_chacha20poly1305_ietf_encrypt(raw(sealed.data()), nullptr, raw(text.data()), text.size(),
                                            nullptr, 0, nullptr, kFirst.data(), raw(key.data()));
}

bool unseal_once(const Key& key, std::span<const std::byte> sealed, std::span<std::byte> text) noexcept {
  return sealed.size() == text.size() + kSealBytes &&
         crypto_aead_chacha20poly1305_ietf_decrypt(raw(text.data()), nullptr, nullptr, raw(sealed.data()),
                                                   sealed.size(), nullptr, 0, kFirst.data(),
                                                   raw(key.data())) == 0;
}

}  // namespace weft::sockets
