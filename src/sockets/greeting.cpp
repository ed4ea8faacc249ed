#include "sockets/greeting.hpp"

#include "sockets/key_derivation.hpp"

#include <weft/error.hpp>

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace weft::sockets {

namespace {

static_assert(kSecretBytes == crypto_auth_hmacsha256_KEYBYTES &&
              sizeof(Proof) == crypto_auth_hmacsha256_BYTES);

constexpr std::size_t kToldByListener = offsetof(Challenge, proof);
using Transcript = std::array<std::byte, sizeof(Introduction) + kToldByListener>;

/// All that both sides have said.
Transcript transcript_of(const Introduction& introduction, const Challenge& challenge) noexcept {
  Transcript text;
  std::memcpy(text.data(), &introduction, sizeof introduction);
  std::memcpy(text.data() + sizeof introduction, &challenge, kToldByListener);
  return text;
}

Proof proof_of(char side, Secret secret, const Introduction& introduction,
               const Challenge& challenge) noexcept {
  const Transcript said = transcript_of(introduction, challenge);
  std::array<std::byte, 1 + sizeof said> text{};
  text[0] = static_cast<std::byte>(side);
  std::copy(said.begin(), said.end(), text.begin() + 1);
  Proof proof;
  crypto_auth_hmacsha256(reinterpret_cast<unsigned char*>(proof.data()),
                         reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                         reinterpret_cast<const unsigned char*>(secret.data()));
  return proof;
}

std::string_view text_of(Protection protection) noexcept {
  switch (protection) {
    case Protection::none:
      return "neither authenticated nor encrypted";
    case Protection::authenticated:
      return "authenticated";
    case Protection::encrypted:
      return "encrypted";
  }
  return "protected in a way that is not known here";
}

/// The proof of a verdict, keyed with the key of the direction in which it travels.
std::array<std::byte, 16> proof_of(Verdict verdict, const Key& key) noexcept {
  const Key proof = derive(key, "weft answer", std::as_bytes(std::span(&verdict, 1)));
  std::array<std::byte, 16> part;
  std::copy_n(proof.begin(), part.size(), part.begin());
  return part;
}

}  // namespace

std::string_view fault_of(const Introduction& introduction, std::string_view job_id, int own_rank, int ranks,
                          Purpose purpose) noexcept {
  if (introduction.magic != kGreetingMagic) return "it is no greeting";
  if (introduction.version != kGreetingVersion) return "it greets in another version";
  if (job_id != std::string_view(introduction.job_id.data(), introduction.job_id.size()))
    return "it is of another job";
  if (introduction.purpose != purpose)
    return purpose == Purpose::ranks ? "it is for no rank" : "it is for no launcher";
  if (introduction.to_rank != static_cast<std::uint32_t>(own_rank)) return "it is for another rank";
  if (introduction.from_rank >= static_cast<std::uint32_t>(ranks)) return "it is of no rank";
  return {};
}

void prepare_greetings() {
  if (::sodium_init() < 0) throw Error(ErrorClass::network, "libsodium cannot be initialized");
}

Nonce make_nonce() noexcept {
  Nonce nonce;
  ::randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

bool has_aes() noexcept { return crypto_aead_aes256gcm_is_available() != 0; }

void complete(Introduction& introduction, Protection protection) noexcept {
  introduction.protection = protection;
  introduction.has_aes = has_aes() ? 1 : 0;
  introduction.nonce = make_nonce();
}

Challenge make_challenge(Secret secret, const Introduction& introduction, Protection protection) noexcept {
  Challenge challenge;
  challenge.protection = protection;
  challenge.has_aes = has_aes() ? 1 : 0;
  challenge.nonce = make_nonce();
  challenge.proof = proof_of('l', secret, introduction, challenge);
  return challenge;
}

std::string fault_of(const Challenge& challenge, Secret secret, const Introduction& introduction) {
  if (challenge.magic != kGreetingMagic) return "who listens there is no rank of weft";
  if (challenge.version != kGreetingVersion) return "who listens there greets in another version of weft";
  if (!are_equal(challenge.proof, proof_of('l', secret, introduction, challenge)))
    return "who listens there does not know the secret of the job";
  return difference_of(challenge.protection, introduction.protection);
}

Proof proof_of_connector(Secret secret, const Introduction& introduction,
                         const Challenge& challenge) noexcept {
  return proof_of('c', secret, introduction, challenge);
}

bool are_equal(const Proof& a, const Proof& b) noexcept {
  return ::sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string difference_of(Protection theirs, Protection own) {
  if (theirs == own) return {};
  return "its records are " + std::string(text_of(theirs)) + ", those of this rank " +
         std::string(text_of(own)) +
         ": set tcp_authenticate (WEFT_TCP_AUTHENTICATE) and tcp_encrypt (WEFT_TCP_ENCRYPT) to the same on "
         "all "
         "ranks";
}

SessionKeys keys_of_connector(Secret secret, const Introduction& introduction,
                              const Challenge& challenge) noexcept {
  const Transcript said = transcript_of(introduction, challenge);
  SessionKeys keys;
  keys.send = derive(secret, "weft to listener", said);
  keys.receive = derive(secret, "weft to connector", said);
  keys.protection = introduction.protection;
  keys.uses_aes = introduction.has_aes == 1 && challenge.has_aes == 1;
  return keys;
}

SessionKeys keys_of_listener(Secret secret, const Introduction& introduction,
                             const Challenge& challenge) noexcept {
  SessionKeys keys = keys_of_connector(secret, introduction, challenge);
  std::swap(keys.send, keys.receive);
  return keys;
}

Answer make_answer(Verdict verdict, const SessionKeys& keys_of_listener) noexcept {
  Answer answer;
  answer.verdict = verdict;
  answer.proof = proof_of(verdict, keys_of_listener.send);
  return answer;
}

bool is_genuine(const Answer& answer, const SessionKeys& keys_of_connector) noexcept {
  const auto expected = proof_of(answer.verdict, keys_of_connector.receive);
  return answer.magic == kGreetingMagic &&
         ::sodium_memcmp(answer.proof.data(), expected.data(), expected.size()) == 0;
}

}  // namespace weft::sockets
