// What the agent of a host and the guardian tell each other, over a connection of its own beside that of the
// bootstrap (bootstrap/relay). FrameHeader::argument is a rank where nothing else is said.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::tools::run {

/// Connections to the guardian, by the inbox of its listener.
enum class AgentInbox : std::uint8_t { bootstrap = 0, job = 1 };

enum class JobFrame : std::uint32_t {
  // to the guardian
  started = 1,  // stream: the number of the process
  output,       // payload: a piece of standard output; empty: its end
  errors,       // payload: a piece of standard error; empty: its end
  ended,        // stream: the wait status; comes after the output
  report,       // payload: the answer to `explain`
  input_taken,  // more input may be sent; stream: 1 when the rank reads no more
  trouble,      // argument: exit code of the job; payload: why the ranks cannot be started
  // to the agent
  signal,   // stream: 1 for one rank, 0 for all; payload: 4 bytes, the signal
  input,    // payload: a piece of standard input for rank 0; empty: its end
  explain,  // payload: one character, the request
  finish,   // end all processes, and then this agent
  taken,    // stream: OutputStream; argument: bytes of its output that may be sent in place of as many
  unread,   // stream: OutputStream, which nobody reads any more
};

/// Also the indexes of what there is for each of the two.
enum class OutputStream : std::uint32_t { output = 0, errors = 1 };
inline constexpr std::size_t kOutputStreams = 2;

/// Bytes of an output stream that an agent may send before the guardian has passed them on. However long a
/// reader of the output pauses, the connection is never full: ends, signals and the other stream go on, and
/// the silence of a host stays a sign that it is lost.
inline constexpr std::size_t kOutputWindow = std::size_t{1} << 20;

inline constexpr std::size_t kLongestJobFrame = std::size_t{4} << 20;

}  // namespace weft::tools::run
