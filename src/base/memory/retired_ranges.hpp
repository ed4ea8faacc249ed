// Address ranges of regions that their owners have freed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

namespace weft::base {

/// Keeps the addresses of released regions out of use, without their memory.
///
/// A thread that accesses a region by loads and stores checks that the region is open and then accesses it,
/// and leaves no mark. So a thread may be about to access a region that has just been closed, and its
/// addresses must neither fault nor belong to something else. The same holds for a library that goes on to
/// store what a peer has sent in part. A retired range reads as zeroes, data written
/// to it is lost, and neighbouring ranges are one mapping for the kernel. The addresses are used again only
/// when the range has been retired for ten seconds, and the ranges retired after it are very many (2^16) or
/// very large (a tebibyte together, less when the address space is limited). Any thread.
class RetiredRanges {
 public:
  /// `most_ranges`, `most_bytes`: limits of the ranges that are kept out of use; exceeded while ranges are
  /// younger than `least_age`.
  RetiredRanges(std::size_t most_ranges, std::uint64_t most_bytes, std::chrono::nanoseconds least_age)
      : most_ranges_(most_ranges), most_bytes_(most_bytes), least_age_(least_age) {}
  RetiredRanges(const RetiredRanges&) = delete;
  RetiredRanges& operator=(const RetiredRanges&) = delete;

  /// The ranges of this process, whose address space all runtimes share.
  [[nodiscard]] static RetiredRanges& of_process();

  /// Takes over whole pages that are mapped, and releases the memory behind them.
  void retire(std::byte* base, std::uint64_t bytes) noexcept;
  [[nodiscard]] std::size_t count() const noexcept {
    const std::lock_guard lock(mutex_);
    return ranges_.size();
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Range {
    std::byte* base;
    std::uint64_t bytes;
    Clock::time_point since;
  };

  const std::size_t most_ranges_;
  const std::uint64_t most_bytes_;
  const std::chrono::nanoseconds least_age_;
  mutable std::mutex mutex_;  // guards what follows
  std::deque<Range> ranges_;  // the oldest first
  std::uint64_t bytes_ = 0;   // of all ranges
};

}  // namespace weft::base
