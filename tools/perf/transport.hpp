// What a library has to offer so that the workloads of this folder run over it.
//
// A transport is one of two ranks, or of several, used by one thread. The workloads are templates over it,
// compiled once for every library, so that what they call is inlined and each library runs the same source:
//
//   rank()                            0, 1, ...
//   progress()
//   post_receive(tag, buffer)         completes in any order; buffers stay borrowed until they are waited for
//   wait_receives()                   until all posted receives have ended
//   receives_pending()                whether some have not; does not progress by itself
//   post_send(tag, bytes), wait_sends()
//   ranks(), post_receive_from(source, tag, buffer), post_send_to(target, tag, bytes)
//                                     optional: for workloads of more than two ranks
//   allreduce(mine, sum)              optional: sums of doubles over all ranks
//   expect_am(sink)                   from now on progress() hands it what post_am() of the peer has sent
//   post_am(bytes)                    as many bytes as the task says; wait_sends() waits for it, too;
//                                     kHasActiveMessages only
//   expose(bytes)                     memory that the peer can reach; collective; kHasAccess only
//   memory()                          this rank's own part of it
//   access(), flush()                 access() returns an object with post_put(offset, bytes) and
//                                     post_get(offset, buffer), which a loop keeps to itself; it may be the
//                                     transport, by reference
//   post_add(offset, operand), post_fetch_add(offset, operand, before)
//                                     optional: atomic additions to numbers of 64 bits; the arguments stay
//                                     borrowed until flush()
//
// Posts insist: where a library may refuse, they progress until it accepts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "perf/am_sink.hpp"
#include "perf/task.hpp"

namespace weft::tools::perf {

using ByteView = std::span<const std::byte>;
using ByteSpan = std::span<std::byte>;

/// Few bytes for each other at the start, and at the end the word that all have arrived: for libraries
/// without a launcher of their own. All ranks make the same calls.
class Meeting {
 public:
  /// Gives `mine` to all ranks and returns what each has given, by rank.
  virtual std::vector<std::vector<std::byte>> gather(ByteView mine) = 0;
  /// Of two ranks: what the other has given.
  std::vector<std::byte> swap(ByteView mine) { return gather(mine)[rank_ == 0 ? 1 : 0]; }

 protected:
  explicit Meeting(int rank) : rank_(rank) {}
  ~Meeting() = default;
  const int rank_;
};

/// What the library of a plugin is asked to do, and what it answers.
struct PluginCall {
  const Task* task = nullptr;
  int rank = -1;               ///< -1: the library's launcher says
  Meeting* meeting = nullptr;  ///< nullptr: the library's launcher brings the ranks together
  std::vector<Outcome> outcomes{};
  std::string peer_library{};  ///< name and version, and how it was set up
  std::string error{};         ///< empty: all went well
};

/// The one function that a plugin exports, extern "C", under this name.
using PluginEntry = void (*)(PluginCall& call);
inline constexpr const char* kPluginEntry = "weft_perf_plugin_1";

}  // namespace weft::tools::perf
