// A record of what happened in the matching engines of a rank, to be replayed on other engines.
#pragma once

#include "core/matching/table/match_key.hpp"

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace weft::core {

struct MatchEvent {
  enum class Kind : std::uint8_t {
    post,    ///< of a receive
    arrive,  ///< of a message, when it was its turn
    cancel,  ///< of a receive that was posted, by its identity
    take     ///< of a message, by a matched probe
  };
  Kind kind = Kind::post;
  std::uint16_t engine = 0;
  MatchKey key;
  std::uint64_t tag_mask = 0;
  std::uint64_t identity = 0;  ///< of a receive that was posted and of the one that is cancelled; else 0
};

/// Exists only when the attribute `matching_trace` asks for it. Any thread.
class MatchEventLog {
 public:
  /// `path`: file to be written. Throws weft::Error when it cannot be opened, so that nobody waits for a
  /// long run in vain.
  MatchEventLog(std::string path, int rank, int size);

  void add(const MatchEvent& event) noexcept;
  /// Writes the file; returns false when that fails. The format is described in docs/guide/matching.md.
  [[nodiscard]] bool write() const;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  const std::string path_;
  const int rank_;
  const int size_;
  std::mutex mutex_;
  std::vector<MatchEvent> events_;
  std::uint64_t dropped_ = 0;  // there was no memory for them
};

}  // namespace weft::core
