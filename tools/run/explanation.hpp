#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "bootstrap/local/socket.hpp"
#include "run/explain.hpp"

namespace weft::tools::run {

using bootstrap::local::Descriptor;

/// Asks the ranks of a job why they do not go on (`--explain`), each through a socket of its own that it
/// inherits. Never blocks: whoever runs the job's loop calls work() when sources() is readable or
/// remaining_ms() has passed.
class Explanation {
 public:
  /// After half of `seconds` the ranks are asked to remember what is pending, after all of them for their
  /// reports.
  Explanation(int ranks, double seconds);

  /// A rank's end, to be inherited, and how the environment of the rank names it.
  struct RankEnd {
    Descriptor descriptor;
    std::string name;
  };
  RankEnd open(int rank);
  void rank_ended(int rank, std::string how);
  /// Asks now, whatever the time.
  void ask();

  /// Readable when ranks have answered.
  int sources() const { return epoll_.get(); }
  /// Negative: there is nothing to wait for but sources().
  std::int64_t remaining_ms() const;
  /// The paragraph, once all ranks have answered or had time to.
  std::optional<std::string> work();

 private:
  void tell(char request);
  void receive(std::size_t rank);

  Descriptor epoll_;
  std::vector<Descriptor> sockets_;
  std::vector<RankAnswer> answers_;
  std::optional<base::Deadline> look_at_;
  std::optional<base::Deadline> ask_at_;
  std::optional<base::Deadline> answer_until_;
};

}  // namespace weft::tools::run
