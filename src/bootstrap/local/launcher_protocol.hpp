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
  hello = 1,    // rank           the job's id, the runtime's name; the answer is a Welcome (board.hpp), with
                // the board's descriptor
  put,          // key length     key, value
  try_get,      // rank           key; the answer is a value or missing
  get,          // rank           key; answered when published
  barrier,      // 0              none; answered when all ranks have arrived
  allgather,    // 0              this rank's bytes; the answer is the bytes of all ranks
  abort,        // exit code      reason
  leave,        // 0              none; not answered
  ending,       // 0              none; not answered: the rank arrives in no further collective
  loss,         // 0              what was lost; not answered
  unreachable,  // rank         why it cannot be reached; not answered
  lend,         // 0              key; with a descriptor; answered by missing when there are too many
  take_back,    // 0              key
  borrow,       // rank           key; the answer is done with a descriptor, or missing
  agree,        // 0              what the rank states (agreement.hpp); failed: it differs, and has failed
  // answers
  done = 100,  // 0              the requested data
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
inline constexpr std::size_t kMaximumHello = 128;
inline constexpr std::size_t kMaximumAnswer = kMaximumGathered;

/// The socket's name, which is also the value of WEFT_BOOTSTRAP: "weft-" and the job's id. The id is random,
/// so two jobs never use the same name; the abstract name space leaves nothing in the file system, however
/// the job ends.
inline std::string socket_name(std::string_view job_id) { return "weft-" + std::string(job_id); }

}  // namespace weft::bootstrap::local
