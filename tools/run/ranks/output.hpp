#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "bootstrap/local/socket.hpp"

namespace weft::tools::run {

using bootstrap::local::Descriptor;

/// One output of the job (standard output or standard error) that the ranks share, each through a pipe of its
/// own. Lines of different ranks are never mixed in one line; the pieces of a line longer than 64 KiB may be
/// separated, and are then on lines of their own. Never blocks: while the target is slow, wants_input() is
/// false and the ranks wait in their writes.
class Output {
 public:
  Output(int target, bool tagged);

  void add(int rank, Descriptor pipe);
  /// For ranks without a pipe: what one has written, and the end of it. Only while wants_input().
  void take(int rank, std::string_view text);
  void take_end(int rank);

  /// A descriptor that is readable when read_sources() has something to read.
  int sources() const { return epoll_.get(); }
  bool wants_input() const { return buffer_.size() - written_ < kBufferLimit; }
  /// Returns true when nothing more is written, because the target has no reader or takes no more.
  bool has_no_reader() const { return broken_; }
  void read_sources();

  /// Writes a line of the launcher itself.
  void say(std::string_view line);

  /// The descriptor to wait for with POLLOUT while has_pending().
  int target() const { return target_; }
  bool has_pending() const { return written_ < buffer_.size(); }
  void write_pending();

  /// Takes the remaining content of the pipes, and unfinished lines, after the last writer has ended.
  void finish_sources();

  /// The reason why the target took no more, for example a full disk; empty when there is none, also when the
  /// target's reader has merely ended.
  const std::string& failure() const { return failure_; }

 private:
  static constexpr std::size_t kBufferLimit = std::size_t{1} << 20;
  static constexpr std::size_t kLongestLine = std::size_t{64} << 10;
  static constexpr int kNobody = -1;
  static constexpr int kLauncher = -2;

  struct Source {
    int rank;
    Descriptor pipe;
    std::string partial;  // the beginning of a line whose end has not come yet
  };

  enum class Read { some, nothing, end };
  Read read_from(Source& source);
  void add_text(int rank, std::string& partial, std::string_view text);
  void emit(int rank, std::string_view text);
  void abandon();

  Descriptor reopened_;
  int target_;
  std::size_t write_limit_;
  bool is_socket_ = false;
  const bool tagged_;
  bool broken_ = false;
  std::string failure_;
  Descriptor epoll_;
  std::map<int, Source> sources_;        // by descriptor
  std::map<int, std::string> partials_;  // of ranks without a pipe
  std::string buffer_;
  std::size_t written_ = 0;
  int open_line_of_ = kNobody;  // source of the line with which the output ends, if that line is not finished
};

}  // namespace weft::tools::run
