// Where the launcher asks for reports.
#pragma once

#include <string_view>

namespace weft::core {

/// What the launcher sends, one byte a message: remember what is pending, so that the next report can tell
/// for how long, or report.
enum class ReportRequest : char { look = 'l', report = 'r' };

/// The rank's end of a socket that the launcher has left to it, named by WEFT_EXPLAIN_SOCKET as
/// "<descriptor>:<inode>". Reports travel as one message each.
class ReportChannel {
 public:
  /// Closed when the variable is not set or names something else, or when `rank` of `size` is not what the
  /// launcher has started, or another runtime of the process has the channel.
  ReportChannel(int rank, int size);
  ~ReportChannel();
  ReportChannel(const ReportChannel&) = delete;
  ReportChannel& operator=(const ReportChannel&) = delete;

  /// Negative: closed.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// The next request; false: there is none now.
  bool receive(ReportRequest& request) noexcept;
  void send(std::string_view report) noexcept;

 private:
  int descriptor_ = -1;  // the process's, not closed here: another runtime of it may use it later
  bool is_owner_ = false;
};

}  // namespace weft::core
