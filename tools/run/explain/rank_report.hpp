// The report of a rank as the launcher reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::tools::run {

struct WaitReport {
  std::string what;
  std::string file;
  std::int64_t line = 0;  ///< 0: file and line are unknown
  std::string context;    ///< what the program says it is doing: "MPI_Recv on MPI_COMM_WORLD"; may be empty
  std::int64_t peer = -1;
  std::int64_t exposed = -1;
  double seconds = 0;
  std::string completion;
  bool is_for_all = false;      ///< it ends when all ranks are in the same wait
  bool is_in_handler = false;   ///< of the device that would have to end it
  bool is_whole = false;        ///< `what` says all: the operations behind it are not the program's
  std::int64_t remote_id = -1;  ///< the id of the peer's object that a post is for
  std::string refusal;          ///< why the post was refused last
  /// The operations that it is for, by index; std::nullopt: those that signal its completion object.
  std::optional<std::vector<std::size_t>> operations{};
  std::uint64_t sequence = 0;  ///< it is a step of this sequence; 0: of none
  std::uint64_t step = 0;
  std::string step_name{};
};

/// How far a rank has come in a sequence of steps that all its members take in the same order.
struct SequenceReport {
  std::uint64_t sequence = 0;
  std::uint64_t steps = 0;
  std::string name;
  std::string last;
};

struct OperationReport {
  std::string kind;
  std::string state;
  std::int64_t peer = -1;
  bool has_tag = false;
  std::uint64_t tag = 0;
  std::uint64_t tag_mask = ~std::uint64_t{0};  ///< of a receive: the bits that count
  std::string tag_text{};                      ///< "tag 7 of context key 12"; empty: the tag is all
  bool is_collective = false;                  ///< its tag says nothing to the program
  std::uint64_t size = 0;
  std::string completion;
  double seconds = 0;           ///< time since an earlier check saw it
  std::int64_t remote_id = -1;  ///< the id of the peer's object that it is for, when the peer is not ready
};

/// Messages in an exposed object that no thread has taken for `seconds`; 0: not seen before.
struct QueueReport {
  std::int64_t exposed = -1;
  std::uint64_t messages = 0;
  double seconds = 0;
};

/// Posts that were refused since the last check.
struct RefusalsReport {
  std::string reason;
  std::uint64_t count = 0;
  std::int64_t peer = -1;       ///< of the last one, where it is known
  std::int64_t remote_id = -1;  ///< the id of the peer's object that it was for
};

struct RankReport {
  std::vector<WaitReport> waits;
  std::vector<OperationReport> operations;
  std::vector<QueueReport> queues;
  std::vector<RefusalsReport> refusals;
  std::vector<std::int64_t> exposed;  ///< the lowest ids under which objects are exposed
  bool has_more_exposed = false;
  std::vector<SequenceReport> sequences;
  std::vector<std::string> layers;  ///< sentences of layers above weft about themselves
};

/// Parses a report. Returns std::nullopt for a text that is none: data written by another process is not
/// trusted.
std::optional<RankReport> parse_report(const std::string& text);

}  // namespace weft::tools::run
