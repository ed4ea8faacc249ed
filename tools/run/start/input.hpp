// Standard input of a job, which rank 0 has.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/descriptor.hpp"

namespace weft::tools::run {

/// Returns true when standard input is a terminal: then rank 0 gets what is typed through a pipe. It has no
/// part in the job control of that terminal, and would take what is typed for a shell in the foreground.
bool input_is_terminal();

/// The launcher's own standard input, read for rank 0. From a terminal that controls the launcher it reads
/// only while the launcher's group of processes is in the foreground: what is typed at other times is for
/// others.
class JobInput {
 public:
  /// `front`: the process that the shell knows.
  explicit JobInput(pid_t front);

  /// What to wait for with POLLIN; negative while there is nothing to wait for.
  [[nodiscard]] int descriptor();
  /// Milliseconds after which descriptor() is to be asked again; negative: none.
  [[nodiscard]] std::int64_t remaining_ms() const;
  /// Returns the number of bytes, 0 at the end, and a negative number when there is nothing now.
  ssize_t read(std::span<std::byte> into);
  void close();

 private:
  [[nodiscard]] bool is_in_foreground() const;

  pid_t front_;
  base::Descriptor input_;
  std::uint64_t terminal_ = 0;  // device; 0: none
  bool is_in_background_ = false;
};

/// The pipe from which rank 0 reads. Never blocks, and keeps no more than it was given at a time.
class RankInput {
 public:
  /// Throws weft::Error.
  RankInput();

  /// For the rank; to be closed once it has been started.
  base::Descriptor& read_end() { return read_end_; }
  /// Returns true when the rank may be given more.
  [[nodiscard]] bool has_room() const { return write_end_ && unread_.empty() && !has_all_; }
  [[nodiscard]] bool is_closed() const { return !write_end_; }
  /// An empty piece is the end.
  void give(std::span<const std::byte> piece);
  /// What to wait for with POLLOUT; negative: nothing.
  [[nodiscard]] int descriptor() const { return unread_.empty() ? -1 : write_end_.get(); }
  void write();

 private:
  base::Descriptor read_end_;
  base::Descriptor write_end_;
  std::vector<std::byte> unread_;
  bool has_all_ = false;
};

}  // namespace weft::tools::run
