#include "base/memory/guarded_copy.hpp"

#include "base/uninterrupted.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace weft::base {

namespace {

enum class Result { done, refused, unsupported };

/// Copies by cross-memory attach to this process itself.
Result copy_by_attach(std::byte* to, const std::byte* from, std::size_t size, bool is_write) noexcept {
  const pid_t process = ::getpid();
  while (size != 0) {
    // The guarded memory is passed as the remote side: only by that does the kernel tell which side it could
    // not access.
    const iovec local{is_write ? const_cast<std::byte*>(from) : to, size};
    const iovec remote{is_write ? to : const_cast<std::byte*>(from), size};
    const ssize_t count = is_write ? ::process_vm_writev(process, &local, 1, &remote, 1, 0)
                                   : ::process_vm_readv(process, &local, 1, &remote, 1, 0);
    if (count <= 0) return errno == EFAULT || count == 0 ? Result::refused : Result::unsupported;
    to += count;
    from += count;
    size -= static_cast<std::size_t>(count);
  }
  return Result::done;
}

/// The file in memory through which the kernel copies; made at first use, by any thread.
int transfer_file() noexcept {
  static const int file = ::memfd_create("weft-copy", MFD_CLOEXEC);
  return file;
}

/// Copies by writing to a file and reading from it: each system call accesses memory of the program once.
Result copy_by_file(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  const int file = transfer_file();
  if (file < 0) return Result::unsupported;
  // A slot for each of the threads that copy at the same time; further threads try until a slot is free.
  constexpr std::size_t kSlots = 16;
  constexpr std::size_t kSlotBytes = 64 * 1024;
  static std::array<std::atomic<bool>, kSlots> is_taken{};
  std::size_t slot = 0;
  while (is_taken[slot].exchange(true, std::memory_order_acquire)) slot = (slot + 1) % kSlots;
  const auto offset = static_cast<off_t>(slot * kSlotBytes);
  Result result = Result::done;
  while (size != 0 && result == Result::done) {
    const std::size_t count = std::min(size, kSlotBytes);
    errno = 0;
    if (uninterrupted([&] { return ::pwrite(file, from, count, offset); }) != static_cast<ssize_t>(count) ||
        uninterrupted([&] { return ::pread(file, to, count, offset); }) != static_cast<ssize_t>(count))
      result = errno == 0 || errno == EFAULT ? Result::refused : Result::unsupported;
    to += count;
    from += count;
    size -= count;
  }
  is_taken[slot].store(false, std::memory_order_release);
  return result;
}

std::atomic<bool> attach_is_forbidden{false};

bool copy(std::byte* to, const std::byte* from, std::size_t size, bool is_write) noexcept {
  if (!attach_is_forbidden.load(std::memory_order_relaxed)) {
    const Result result = copy_by_attach(to, from, size, is_write);
    if (result != Result::unsupported) return result == Result::done;
    attach_is_forbidden.store(true, std::memory_order_relaxed);
  }
  const Result result = copy_by_file(to, from, size);
  if (result != Result::unsupported) return result == Result::done;
  // The kernel allows neither method: the memory is assumed to be accessible, as the program has promised.
  if (size != 0) std::memcpy(to, from, size);
  return true;
}

}  // namespace

bool write_guarded(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  return copy(to, from, size, true);
}

bool read_guarded(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  return copy(to, from, size, false);
}

bool can_update(std::byte* word) noexcept {
  // An atomic "or" with 0, which the kernel executes at `word` before it wakes no waiter.
  std::uint32_t nowhere = 0;
  constexpr std::uint32_t kOrNothing = static_cast<std::uint32_t>(FUTEX_OP_OR) << 28;
  const long woken = ::syscall(SYS_futex, &nowhere, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, nullptr, word,
                               static_cast<long>(kOrNothing));
  return woken >= 0 || (errno != EFAULT && errno != EINVAL);
}

bool guarded_copy::copy(std::byte* to, const std::byte* from, std::size_t size, bool is_write,
                        Way way) noexcept {
  return (way == Way::cross_memory ? copy_by_attach(to, from, size, is_write)
                                   : copy_by_file(to, from, size)) == Result::done;
}

}  // namespace weft::base
