// The greeting of a new connection, by which both sides prove that they belong to the job.
//
//   connecting rank                          listening rank
//   Introduction (who, to whom, nonce)  -->
//                                       <--  Challenge (nonce, proof that it knows the secret)
//   Proof                               -->
//                                       <--  Verdict
//
// Proofs are keyed with the secret of the job and cover the introduction and the nonces of both sides, so
// that a greeting that was overheard is worth nothing later.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft::sockets {

inline constexpr std::uint32_t kGreetingMagic = 0x47544657;  // "WFTG"
inline constexpr std::uint32_t kGreetingVersion = 1;
inline constexpr std::size_t kSecretBytes = 32;

using Nonce = std::array<std::byte, 16>;
using Proof = std::array<std::byte, 32>;
using Secret = std::span<const std::byte>;

struct Introduction {
  std::uint32_t magic = kGreetingMagic;
  std::uint32_t version = kGreetingVersion;
  std::array<char, 32> job_id{};
  std::uint32_t from_rank = 0;
  std::uint32_t to_rank = 0;
  std::uint8_t from_device = 0;
  std::uint8_t to_device = 0;
  std::uint8_t stream = 0;  // of several connections between two devices; there is one so far
  std::array<std::uint8_t, 5> zero{};
  Nonce nonce{};
};
static_assert(sizeof(Introduction) == 72);

struct Challenge {
  std::uint32_t magic = kGreetingMagic;
  std::uint32_t version = kGreetingVersion;
  Nonce nonce{};
  Proof proof{};
};
static_assert(sizeof(Challenge) == 56);

enum class Verdict : std::uint32_t {
  accepted = 1,
  yield,  // the listening rank connects by itself, or is connected already: this connection is not needed
};
struct Answer {
  std::uint32_t magic = kGreetingMagic;
  Verdict verdict = Verdict::accepted;
};

/// What is told before a greeting is checked further; empty: it is for this rank and has the right form.
[[nodiscard]] std::string_view fault_of(const Introduction& introduction, std::string_view job_id,
                                        int own_rank, int ranks) noexcept;

/// Prepares the library of the functions below. Throws weft::Error.
void prepare_greetings();
[[nodiscard]] Nonce make_nonce() noexcept;
[[nodiscard]] Proof proof_of_listener(Secret secret, const Introduction& introduction,
                                      const Nonce& nonce) noexcept;
[[nodiscard]] Proof proof_of_connector(Secret secret, const Introduction& introduction,
                                       const Nonce& nonce) noexcept;
/// Compares in constant time.
[[nodiscard]] bool are_equal(const Proof& a, const Proof& b) noexcept;

}  // namespace weft::sockets
