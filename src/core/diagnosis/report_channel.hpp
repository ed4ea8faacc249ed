// The channel by which the launcher asks for reports.
#pragma once

#include <string_view>

namespace weft::core {

/// The launcher's requests, one byte a message: look: remember the pending operations, so that the next
/// report can tell how long they have been pending; report: send a report.
enum class ReportRequest : char { look = 'l', report = 'r' };

/// The rank's end of a socket from the launcher, named by WEFT_EXPLAIN_SOCKET as "<descriptor>:<inode>". Each
/// report is one message.
class ReportChannel {
 public:
  /// Closed when the variable is not set or names something else, when `rank` of `size` is not what the
  /// launcher has started, or when another runtime of the process has the channel.
  ReportChannel(int rank, int size);
  ~ReportChannel();
  ReportChannel(const ReportChannel&) = delete;
  ReportChannel& operator=(const ReportChannel&) = delete;

  /// Negative: closed.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Receives the next request; returns false when there is none now.
  bool receive(ReportRequest& request) noexcept;
  void send(std::string_view report) noexcept;

 private:
  int descriptor_ = -1;  // of the process; not closed, another runtime may use it
  bool is_owner_ = false;
};

}  // namespace weft::core
