// Watches for fork(): what a child must not use of its parent's jobs is protected.
#pragma once

#include <cstdint>

namespace weft::base {

/// Calls a function in the child of every fork() that happens while the watch lives, before fork() returns
/// there: the child shares sockets and memory with the rank that it is a copy of, and must not use them. The
/// function calls only functions that a child of a process with threads may call, and acquires no lock that
/// another thread may have held. A watch must be the last member of the object that it protects, so that the
/// other members are complete whenever the function runs.
class ForkWatch {
 public:
  using Function = void (*)(void* context) noexcept;
  ForkWatch(Function in_child, void* context);
  ~ForkWatch();
  ForkWatch(const ForkWatch&) = delete;
  ForkWatch& operator=(const ForkWatch&) = delete;

 private:
  friend struct ForkWatches;
  const Function in_child_;
  void* const context_;
  ForkWatch* previous_ = nullptr;
  ForkWatch* next_ = nullptr;
};

/// Returns true when this process was made by fork() of a process in which watches lived, or descends from
/// such a child without an exec between. Every runtime in it then belongs to its ancestor, and destructors
/// leave it unchanged. Any thread; two loads. Also detects children that were made without the handlers of
/// fork(), by _Fork() or the system call alone.
[[nodiscard]] bool is_forked_copy() noexcept;

/// Throws weft::Error in a forked copy; `operation` begins the line.
void refuse_in_forked_copy(const char* operation);
/// Writes the line of refuse_in_forked_copy() to standard error and ends the process, for operations that
/// cannot throw.
[[noreturn]] void end_forked_copy(const char* operation) noexcept;

/// Replaces, in a forked child, `bytes` bytes of shared memory at `base` (whole pages) by a private copy of
/// their contents, if `descriptor` is still the file that was mapped (its first `bytes` bytes); otherwise
/// makes the shared memory read-only.
class SharedMemoryWatch {
 public:
  /// `descriptor`: must stay open as long as this object lives; negative: there is none.
  SharedMemoryWatch(void* base, std::uint64_t bytes, int descriptor);
  /// In addition replaces, in the child, the bytes before the offset that `zeroed` returns there by zeroes.
  /// See the first constructor for the other arguments.
  SharedMemoryWatch(void* base, std::uint64_t bytes, int descriptor,
                    std::uint64_t (*zeroed)(const void* base) noexcept);

 private:
  static void protect(void* self) noexcept;
  void* const base_;
  const std::uint64_t bytes_;
  const int descriptor_;
  std::uint64_t device_ = 0;  // device of the file, and its inode number there
  std::uint64_t inode_ = 0;
  std::uint64_t (*const zeroed_)(const void* base) noexcept;
  ForkWatch watch_;
};

}  // namespace weft::base
