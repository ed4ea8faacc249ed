#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::tools {

struct Command {
  std::vector<std::string>
      arguments{};  ///< with the program, which is searched in PATH unless it has a slash
  std::vector<std::pair<std::string, std::string>> environment{};  ///< set in addition to this process's
  std::optional<int> processor{};                                  ///< to run on
};

struct Ended {
  bool well = false;  ///< exit code 0, in time
  bool in_time = true;
  std::string how;  ///< "exited with code 3", "was ended after 20 s", ...
  std::string output;
  std::string errors;

  /// One line that tells what went wrong: the last line of the errors, else `how`.
  [[nodiscard]] std::string reason() const;
};

/// A program whose output is collected. It is killed when this process or this object ends.
class Child {
 public:
  /// Throws weft::Error when the program cannot be started.
  explicit Child(const Command& command);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Collects the output until the program has ended, for at most `seconds`, or until this process is
  /// interrupted (Interruption); then asks it to end, and kills it. Call it once.
  Ended finish(double seconds);
  /// Returns true when the program has not ended yet.
  [[nodiscard]] bool is_running();

 private:
  void kill_and_reap();
  void end_gently();
  void collect(Ended& ended, double seconds);
  pid_t process_ = -1;
  int status_ = 0;
  int output_ = -1;
  int errors_ = -1;
};

/// Starts a program and collects its output.
Ended run_to_end(const Command& command, double seconds);

/// The path of a program in PATH; empty when there is none.
std::string find_in_path(const std::string& program);

}  // namespace weft::tools
