#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "bootstrap/local/socket.hpp"
#include "run/explain/explain.hpp"

namespace weft::tools::run {

using bootstrap::local::Descriptor;

/// When this process is itself a rank of another job: closes the channel by which that job asks its ranks.
/// This process answers there for itself; the ranks of its own job must not.
void close_channel_of_outer_job();

/// Asks the ranks of a job why they make no progress (`--explain`), each through a socket of its own that the
/// rank inherits. Never blocks: the job's loop calls work() when sources() is readable or remaining_ms() has
/// passed.
class Explanation {
 public:
  /// After half of `seconds` the ranks are asked to note what is pending, after all of it for their reports.
  Explanation(int ranks, double seconds);

  /// A rank's end of the socket, to be inherited, and its name in the environment of the rank.
  struct RankEnd {
    Descriptor descriptor;
    std::string name;
  };
  RankEnd open(int rank);
  void rank_ended(int rank, std::string how);
  /// Asks the ranks now, whatever the time.
  void ask();

  /// Postpones all deadlines, after the ranks have been stopped for this time.
  void postpone(std::int64_t by_ns);

  /// A descriptor that is readable when ranks have answered.
  int sources() const { return epoll_.get(); }
  /// Time until the next deadline; negative when there is none, so that only sources() is to be waited for.
  std::int64_t remaining_ms() const;
  /// Processes answers. Returns the paragraph once all ranks have answered or their time is over.
  std::optional<std::string> work();

 private:
  void ask_all(char request);
  void receive(std::size_t rank);

  Descriptor epoll_;
  std::vector<Descriptor> sockets_;
  std::vector<RankAnswer> answers_;
  std::optional<base::Deadline> look_at_;
  std::optional<base::Deadline> ask_at_;
  std::optional<base::Deadline> answer_until_;
};

}  // namespace weft::tools::run
