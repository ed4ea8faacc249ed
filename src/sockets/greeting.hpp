// The greeting of a new connection, by which both sides prove that they belong to the job, and from which the
// keys of what follows come.
//
//   connecting rank                          listening rank
//   Introduction (who, to whom, nonce)  -->
//                                       <--  Challenge (nonce, proof that it knows the secret)
//   Proof                               -->
//                                       <--  Answer, proved as well
//
// Proofs are keyed with the secret of the job, which itself is never sent, and cover all that both sides have
// said and a letter for the side: a greeting that was overheard is worth nothing later, nor is one sent back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weft::sockets {

inline constexpr std::uint32_t kGreetingMagic = 0x47544657;  // "WFTG"
inline constexpr std::uint32_t kGreetingVersion = 2;
inline constexpr std::size_t kSecretBytes = 32;

using Nonce = std::array<std::byte, 16>;
using Proof = std::array<std::byte, 32>;
using Key = std::array<std::byte, kSecretBytes>;
using Secret = std::span<const std::byte>;

/// How the bytes behind a greeting are protected. Both sides must want the same.
enum class Protection : std::uint8_t { none, authenticated, encrypted };
/// Who greets: a greeting for the one is none for the other.
enum class Purpose : std::uint8_t { ranks = 1, hosts };

struct Introduction {
  std::uint32_t magic = kGreetingMagic;
  std::uint32_t version = kGreetingVersion;
  std::array<char, 32> job_id{};
  std::uint32_t from_rank = 0;
  std::uint32_t to_rank = 0;
  std::uint8_t from_device = 0;
  std::uint8_t to_device = 0;
  std::uint8_t stream = 0;  // of several connections between two devices; there is one so far
  Purpose purpose = Purpose::ranks;
  Protection protection = Protection::none;
  std::uint8_t has_aes = 0;  // the processor has instructions for it
  std::array<std::uint8_t, 2> zero{};
  Nonce nonce{};
};
static_assert(sizeof(Introduction) == 72);

struct Challenge {
  std::uint32_t magic = kGreetingMagic;
  std::uint32_t version = kGreetingVersion;
  Protection protection = Protection::none;
  std::uint8_t has_aes = 0;
  std::array<std::uint8_t, 6> zero{};
  Nonce nonce{};
  Proof proof{};
};
static_assert(sizeof(Challenge) == 64);

/// Of what follows a greeting, one for each direction.
struct SessionKeys {
  Key send{};
  Key receive{};
  Protection protection = Protection::none;
  bool uses_aes = false;
};

enum class Verdict : std::uint32_t {
  accepted = 1,
  yield,  // the listening rank connects by itself, or is connected already: this connection is not needed
};
struct Answer {
  std::uint32_t magic = kGreetingMagic;
  Verdict verdict = Verdict::accepted;
  std::array<std::byte, 16> proof{};
};
static_assert(sizeof(Answer) == 24);

/// What is told before a greeting is checked further; empty: it is for this rank and has the right form.
[[nodiscard]] std::string_view fault_of(const Introduction& introduction, std::string_view job_id,
                                        int own_rank, int ranks, Purpose purpose = Purpose::ranks) noexcept;

/// Prepares the library of the functions below. Throws weft::Error.
void prepare_greetings();
[[nodiscard]] Nonce make_nonce() noexcept;
/// Whether this processor has instructions for AES, which then protects faster than anything else.
[[nodiscard]] bool has_aes() noexcept;
/// Fills what is not said by the connecting side's own fields: protection, processor and nonce.
void complete(Introduction& introduction, Protection protection) noexcept;
/// The listening side's, proved.
[[nodiscard]] Challenge make_challenge(Secret secret, const Introduction& introduction,
                                       Protection protection) noexcept;
/// What is told of a challenge: it is of no listener of the job, or of one with another protection; empty: it
/// is as it should be.
[[nodiscard]] std::string fault_of(const Challenge& challenge, Secret secret,
                                   const Introduction& introduction);
[[nodiscard]] Proof proof_of_connector(Secret secret, const Introduction& introduction,
                                       const Challenge& challenge) noexcept;
/// Compares in constant time.
[[nodiscard]] bool are_equal(const Proof& a, const Proof& b) noexcept;
/// "its records are encrypted, ...": why two sides cannot talk; empty when they can.
[[nodiscard]] std::string difference_of(Protection theirs, Protection own);

/// After both have proved themselves.
[[nodiscard]] SessionKeys keys_of_connector(Secret secret, const Introduction& introduction,
                                            const Challenge& challenge) noexcept;
[[nodiscard]] SessionKeys keys_of_listener(Secret secret, const Introduction& introduction,
                                           const Challenge& challenge) noexcept;
[[nodiscard]] Answer make_answer(Verdict verdict, const SessionKeys& keys_of_listener) noexcept;
[[nodiscard]] bool is_genuine(const Answer& answer, const SessionKeys& keys_of_connector) noexcept;

}  // namespace weft::sockets
