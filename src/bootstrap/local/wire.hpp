#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bootstrap/bootstrap.hpp"

namespace weft::bootstrap::local {

// The protocol between `weft run` and its ranks, over a stream socket in the abstract name space of one host.
// Every message is a Header and `length` bytes. A rank sends requests; the launcher answers each once, in any
// order.

enum class Message : std::uint32_t {
  // requests                argument       payload
  hello = 1,  // rank           the job's id; the answer is a Welcome (board.hpp)
  put,        // key length     key, value
  try_get,    // rank           key; the answer is a value or missing
  get,        // rank           key; answered when published
  barrier,    // 0              none; answered when everybody has arrived
  allgather,  // 0              this rank's bytes; the answer is everybody's
  abort,      // exit code      reason
  leave,      // 0              none; not answered
  // answers
  done = 100,  // 0              what was asked for
  missing,     // 0              none
  failed,      // 0              one line of text
};

struct Header {
  std::uint32_t length = 0;
  std::uint32_t request = 0;  ///< chosen by the rank, repeated in the answer
  Message message{};
  std::int32_t argument = 0;
};
static_assert(sizeof(Header) == 16, "both sides read headers as 16 bytes");

/// Longest payload of a request; before hello only kMaximumHello bytes are accepted.
inline constexpr std::size_t kMaximumRequest = kMaximumValue + kMaximumKey;
inline constexpr std::size_t kMaximumHello = 64;
inline constexpr std::size_t kMaximumAnswer = kMaximumGathered;

/// The socket's name, which is also the value of WEFT_BOOTSTRAP: "weft-" and the job's id. The id is random,
/// so two jobs never meet; the abstract name space leaves nothing in the file system, however the job ends.
inline std::string socket_name(std::string_view job_id) { return "weft-" + std::string(job_id); }

}  // namespace weft::bootstrap::local
