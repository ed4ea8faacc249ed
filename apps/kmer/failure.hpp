// Reports failures of the program: one line, kept until all ranks have agreed to end.
#pragma once

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>

namespace kmer {

/// Input, options or outputs that cannot be used. what() is one line that names the thing and what is wrong
/// with it.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The first failure of this rank, and whether any rank has failed. Any thread.
class Failure {
 public:
  /// Keeps the first message; later failures are consequences of it.
  void report(const std::string& message) {
    const std::lock_guard lock(mutex_);
    if (message_.empty()) message_ = message;
    raised_.store(true, std::memory_order_relaxed);
  }
  /// Notes that another rank has failed, which reports the reason.
  void report_elsewhere() noexcept { raised_.store(true, std::memory_order_relaxed); }

  /// Returns true when work should end early. A hint: the agreement comes at the end of the pass.
  [[nodiscard]] bool raised() const noexcept { return raised_.load(std::memory_order_relaxed); }
  /// The message of the failure; empty when this rank has not failed.
  [[nodiscard]] std::string message() const {
    const std::lock_guard lock(mutex_);
    return message_;
  }

 private:
  mutable std::mutex mutex_;
  std::string message_;
  std::atomic<bool> raised_{false};
};

}  // namespace kmer
