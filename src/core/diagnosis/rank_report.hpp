// The report of one rank, for explanations: what it waits for, and which operations are in progress.
#pragma once

#include "core/diagnosis/pending.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::core {

/// What a layer above weft knows of a wait (WaitDetail).
struct ReportedDetail {
  bool has_tag = false;
  std::uint64_t tag = 0, tag_mask = 0;
  std::int32_t peer = -1;
  std::uint64_t sequence = 0, step = 0;
  std::string step_name;

  /// Returns true when the wait may be for an operation with this peer and tag.
  [[nodiscard]] bool includes(const PendingOperation& operation) const noexcept {
    if (has_tag && operation.has_tag && ((operation.tag ^ tag) & tag_mask & operation.tag_mask) != 0)
      return false;
    return peer < 0 || operation.peer < 0 || operation.peer == peer;
  }
};

/// A copy of a SequenceState.
struct ReportedSequence {
  std::uint64_t sequence = 0, steps = 0;
  std::string name, last;
};

/// A copy of a waiting thread's record.
struct ReportedWait {
  std::string what;
  std::string file;
  std::string function;
  std::uint32_t line = 0;  // 0: file and line are unknown
  std::uint32_t thread = 0;
  std::int32_t device = -1;
  std::int32_t peer = -1;
  double seconds = 0;
  const void* completion = nullptr;
  std::int32_t exposed = -1;   // the id under which peers reach the completion object
  bool is_in_context = false;  // `function` is a CallContext, which may have no file and line
  bool is_in_handler = false;
  bool is_whole = false;        // WaitDescription::is_whole
  std::int32_t remote_id = -1;  // the id of the peer's object that a post is for
  bool is_task = false;         // `thread` is the task's number
  const char* refusal = "";     // why the post was refused last
  std::optional<ReportedDetail> detail{};
};

struct ReportedOperation {
  PendingOperation operation;
  std::string tag;     // in the words of a layer above weft; empty: it has none
  double seconds = 0;  // since it was first seen, by an earlier report; 0: not seen before
};

/// An exposed object with messages that were not taken since an earlier report.
struct ReportedQueue {
  std::int32_t exposed = -1;  // the id under which peers reach it
  std::uint64_t messages = 0;
  double seconds = 0;  // since it was first seen like this; 0: not seen before
};

/// The number of posts that were refused since the last report.
struct ReportedRefusals {
  const char* reason = "";
  std::uint64_t count = 0;
  std::int32_t peer = -1;       // of the last one, where it is known
  std::int32_t remote_id = -1;  // the id of the peer's object that it was for
};

struct Report {
  int rank = 0;
  int size = 1;
  int process = 0;
  std::vector<ReportedWait> waits;
  std::vector<ReportedOperation> operations;
  std::vector<ReportedQueue> queues;
  std::vector<ReportedRefusals> refusals;
  std::vector<std::uint16_t> exposed;  // the lowest ids
  bool has_more_exposed = false;
  std::vector<ReportedSequence> sequences;
  std::vector<std::string> layers;  // what layers above weft say of themselves
  std::vector<std::string> notes;   // what is left out, and what could not be read
};

/// Returns several lines for readers, each ended by a line break. `cause`: "SIGUSR1", for example.
[[nodiscard]] std::string to_text(const Report& report, const char* cause);
/// Returns one JSON object; docs/guide/diagnosis.md has its members.
[[nodiscard]] std::string to_json(const Report& report);

}  // namespace weft::core
