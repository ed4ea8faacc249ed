#include "sockets/greeting.hpp"

#include <weft/error.hpp>

#include <sodium.h>

#include <cstring>

namespace weft::sockets {

namespace {

static_assert(kSecretBytes == crypto_auth_hmacsha256_KEYBYTES &&
              sizeof(Proof) == crypto_auth_hmacsha256_BYTES);

Proof proof_of(char role, Secret secret, const Introduction& introduction, const Nonce& nonce) noexcept {
  std::array<unsigned char, 1 + sizeof introduction + sizeof nonce> text{};
  text[0] = static_cast<unsigned char>(role);
  std::memcpy(text.data() + 1, &introduction, sizeof introduction);
  std::memcpy(text.data() + 1 + sizeof introduction, nonce.data(), nonce.size());
  Proof proof;
  crypto_auth_hmacsha256(reinterpret_cast<unsigned char*>(proof.data()), text.data(), text.size(),
                         reinterpret_cast<const unsigned char*>(secret.data()));
  return proof;
}

}  // namespace

std::string_view fault_of(const Introduction& introduction, std::string_view job_id, int own_rank,
                          int ranks) noexcept {
  if (introduction.magic != kGreetingMagic) return "it is no greeting";
  if (introduction.version != kGreetingVersion) return "it greets in another version";
  if (job_id != std::string_view(introduction.job_id.data(), introduction.job_id.size()))
    return "it is of another job";
  if (introduction.to_rank != static_cast<std::uint32_t>(own_rank)) return "it is for another rank";
  if (introduction.from_rank >= static_cast<std::uint32_t>(ranks)) return "it is of no rank";
  return {};
}

void prepare_greetings() {
  if (::sodium_init() < 0) throw Error("libsodium cannot be initialized");
}

Nonce make_nonce() noexcept {
  Nonce nonce;
  ::randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

Proof proof_of_listener(Secret secret, const Introduction& introduction, const Nonce& nonce) noexcept {
  return proof_of('l', secret, introduction, nonce);
}

Proof proof_of_connector(Secret secret, const Introduction& introduction, const Nonce& nonce) noexcept {
  return proof_of('c', secret, introduction, nonce);
}

bool are_equal(const Proof& a, const Proof& b) noexcept {
  return ::sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace weft::sockets
