#include "base/memory/retired_ranges.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <new>

namespace weft::base {

namespace {

constexpr std::size_t kMostRanges = 1U << 16;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;
constexpr auto kLeastAge = std::chrono::seconds(10);

/// Only a small part of an address space that is limited (ulimit -v).
std::uint64_t most_bytes_of_process() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMostBytes;
  return std::min(kMostBytes, static_cast<std::uint64_t>(limit.rlim_cur) / 16);
}

}  // namespace

RetiredRanges& RetiredRanges::of_process() {
  // Never destroyed: runtimes may end after the objects of this library.
  static auto* const ranges = new RetiredRanges(kMostRanges, most_bytes_of_process(), kLeastAge);
  return *ranges;
}

void RetiredRanges::retire(std::byte* base, std::uint64_t bytes) noexcept {
  // When the kernel cannot replace the mapping, the range stays as it was: a file that its owner has emptied.
  // A late thread may be writing there, which is harmless. The mapping is made by syscall(), which
  // ThreadSanitizer does not count as a write.
  ::syscall(SYS_mmap, base, bytes, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  try {
    ranges_.push_back({base, bytes, now});
  } catch (const std::bad_alloc&) {
    return;  // the range stays out of use
  }
  bytes_ += bytes;
  while (!ranges_.empty() && (ranges_.size() > most_ranges_ || bytes_ > most_bytes_) &&
         now - ranges_.front().since >= least_age_) {
    const Range oldest = ranges_.front();
    ranges_.pop_front();
    bytes_ -= oldest.bytes;
    ::munmap(oldest.base, oldest.bytes);
  }
}

}  // namespace weft::base
