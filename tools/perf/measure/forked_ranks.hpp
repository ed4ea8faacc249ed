#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "common/pinning.hpp"
#include "perf/measure/task.hpp"

namespace weft::tools::perf {

/// Zeroed anonymous memory that a child process shares.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

/// A child process of this one, which dies with it.
class SecondProcess {
 public:
  SecondProcess();
  [[nodiscard]] bool is_child() const { return process_ == 0; }
  /// In the child: runs the body and exits; an exception becomes a line of output and exit code 1.
  [[noreturn]] void run(const std::function<void()>& body);
  /// In the parent: returns the child's exit code, or 1 when it was killed.
  int wait();

 private:
  int process_;
};

/// Runs `first` in this process and `second` in a child, each on its processor. Returns true when both
/// succeeded.
template <class First, class Second>
bool run_pair(const Task& task, const First& first, const Second& second) {
  SecondProcess child;
  if (child.is_child()) {
    child.run([&] {
      pin_thread(task.processors, 1);
      second();
    });
  }
  pin_thread(task.processors, 0);
  first();
  return child.wait() == 0;
}

/// Runs body(rank) for all ranks of the task, rank 0 in this process and each other in a child, on its
/// processor. Returns true when all succeeded.
template <class Body>
bool run_ranks(const Task& task, const Body& body) {
  std::vector<SecondProcess> children;
  for (int rank = 1; rank < task.ranks; ++rank) {
    SecondProcess& child = children.emplace_back();
    if (child.is_child()) {
      child.run([&] {
        pin_thread(task.processors, static_cast<std::size_t>(rank));
        body(rank);
      });
    }
  }
  pin_thread(task.processors, 0);
  body(0);
  bool well = true;
  for (SecondProcess& child : children) well = child.wait() == 0 && well;
  return well;
}

}  // namespace weft::tools::perf
