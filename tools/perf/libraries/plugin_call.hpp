#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "perf/measure/byte_spans.hpp"
#include "perf/measure/task.hpp"

namespace weft::tools::perf {

/// Exchanges a few bytes between the ranks at the start, and at the end the word that all have arrived: for
/// libraries without a launcher of their own. All ranks make the same calls.
class Meeting {
 public:
  /// Gives `mine` to all ranks and returns the bytes that each has given, by rank.
  virtual std::vector<std::vector<std::byte>> gather(ByteView mine) = 0;
  /// For two ranks: returns the bytes that the other has given.
  std::vector<std::byte> swap(ByteView mine) { return gather(mine)[rank_ == 0 ? 1 : 0]; }

 protected:
  explicit Meeting(int rank) : rank_(rank) {}
  ~Meeting() = default;
  const int rank_;
};

/// A request to the library of a plugin, and its answer.
struct PluginCall {
  const Task* task = nullptr;
  int rank = -1;               ///< -1: the library's launcher decides
  Meeting* meeting = nullptr;  ///< nullptr: the library's launcher connects the ranks
  std::vector<Outcome> outcomes{};
  std::string peer_library{};  ///< name and version, and how it was set up
  std::string error{};         ///< empty: no error
};

/// The one function that a plugin exports, extern "C", under this name.
using PluginEntry = void (*)(PluginCall& call);
inline constexpr const char* kPluginEntry = "weft_perf_plugin_1";

}  // namespace weft::tools::perf
