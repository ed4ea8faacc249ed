#include "sockets/key_derivation.hpp"
#include "sockets/sealed_stream.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::sockets {

namespace {

static_assert(kFrameTag == crypto_aead_aes256gcm_ABYTES &&
              kFrameTag == crypto_aead_chacha20poly1305_ietf_ABYTES);
static_assert(crypto_aead_aes256gcm_NPUBBYTES == crypto_aead_chacha20poly1305_ietf_NPUBBYTES);

using Number = std::array<unsigned char, crypto_aead_aes256gcm_NPUBBYTES>;

/// The number of the frame as the nonce of its cipher: with one key it comes once.
Number nonce_of(std::uint64_t number) noexcept {
  Number nonce{};
  std::memcpy(nonce.data(), &number, sizeof number);
  return nonce;
}

unsigned char* characters(std::byte* bytes) noexcept { return reinterpret_cast<unsigned char*>(bytes); }

}  // namespace

struct alignas(64) Sealer::Keys {
  crypto_aead_aes256gcm_state aes;
  std::array<unsigned char, crypto_aead_chacha20poly1305_ietf_KEYBYTES> frames;
  std::array<unsigned char, crypto_shorthash_KEYBYTES> lengths;
  bool is_encrypted;
  bool uses_aes;

  void seal(std::byte* bytes, std::size_t length, std::byte* tag, const Number& nonce) const noexcept;
  bool open(std::byte* bytes, std::size_t length, const std::byte* tag, const Number& nonce) const noexcept;
};

/// What is not to be hidden is what libsodium calls additional data of an empty text, which has an address
/// all the same.
void Sealer::Keys::seal(std::byte* bytes, std::size_t length, std::byte* tag,
                        const Number& nonce) const noexcept {
  unsigned char* const text = characters(bytes);
  const unsigned char* const open_text = is_encrypted ? nullptr : characters(bytes);
  const std::size_t hidden = is_encrypted ? length : 0;
  const std::size_t open_length = is_encrypted ? 0 : length;
  if (uses_aes)
    crypto_aead_aes256gcm_encrypt_detached_afternm(text, characters(tag), nullptr, text, hidden, open_text,
                                                   open_length, nullptr, nonce.data(), &aes);
  else
    crypto_aead_chacha20poly1305_ietf_encrypt_detached(text, characters(tag), nullptr, text, hidden,
                                                       open_text, open_length, nullptr, nonce.data(),
                                                       frames.data());
}

bool Sealer::Keys::open(std::byte* bytes, std::size_t length, const std::byte* tag,
                        const Number& nonce) const noexcept {
  unsigned char* const text = characters(bytes);
  const unsigned char* const open_text = is_encrypted ? nullptr : characters(bytes);
  const std::size_t hidden = is_encrypted ? length : 0;
  const std::size_t open_length = is_encrypted ? 0 : length;
  const auto* const expected = reinterpret_cast<const unsigned char*>(tag);
  return (uses_aes ? crypto_aead_aes256gcm_decrypt_detached_afternm(
                         text, nullptr, text, hidden, expected, open_text, open_length, nonce.data(), &aes)
                   : crypto_aead_chacha20poly1305_ietf_decrypt_detached(text, nullptr, text, hidden, expected,
                                                                        open_text, open_length, nonce.data(),
                                                                        frames.data())) == 0;
}

Sealer::Sealer(const Key& key, Protection protection, bool uses_aes) : keys_(std::make_unique<Keys>()) {
  const Key frames = derive(key, "weft frames", {});
  const Key lengths = derive(key, "weft lengths of frames", {});
  std::memcpy(keys_->frames.data(), frames.data(), keys_->frames.size());
  std::memcpy(keys_->lengths.data(), lengths.data(), keys_->lengths.size());
  keys_->is_encrypted = protection == Protection::encrypted;
  keys_->uses_aes = uses_aes && has_aes();
  if (keys_->uses_aes) crypto_aead_aes256gcm_beforenm(&keys_->aes, keys_->frames.data());
}

Sealer::~Sealer() { ::sodium_memzero(keys_.get(), sizeof(Keys)); }

std::uint64_t Sealer::check_of(std::uint32_t length) const noexcept {
  const std::array<std::uint64_t, 2> fields{number_, length};
  std::uint64_t check = 0;
  crypto_shorthash(reinterpret_cast<unsigned char*>(&check),
                   reinterpret_cast<const unsigned char*>(fields.data()), sizeof fields,
                   keys_->lengths.data());
  return check;
}

void Sealer::seal(std::byte* frame, std::size_t length) noexcept {
  const auto size = static_cast<std::uint32_t>(length);
  const FrameHead head{check_of(size), size, 0};
  std::memcpy(frame, &head, sizeof head);
  std::byte* const bytes = frame + sizeof head;
  keys_->seal(bytes, length, bytes + length, nonce_of(number_));
  ++number_;
}

bool Sealer::is_next(const FrameHead& head) const noexcept {
  return head.length != 0 && head.length <= kMostFramed && head.zero == 0 &&
         head.check == check_of(head.length);
}

bool Sealer::open(std::byte* frame) noexcept {
  FrameHead head;
  std::memcpy(&head, frame, sizeof head);
  std::byte* const bytes = frame + sizeof head;
  if (!keys_->open(bytes, head.length, bytes + head.length, nonce_of(number_))) return false;
  ++number_;
  return true;
}

}  // namespace weft::sockets
