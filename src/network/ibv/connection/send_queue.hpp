// What has been posted to a queue pair and has not been completed.
#pragma once

#include "network/ibv/memory/registered_regions.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace weft::network::ibv {

/// A posted work request.
struct Work {
  enum class Kind : std::uint8_t {
    inlined,  // needs nothing any more
    copied,   // in a room
    frame,    // in a room for frames
    packet,   // of the pool; perhaps with its header in a room
    goodbye,  // in a room
    access,   // a fetch, or a put into a landing
    region_access,
  };
  Kind kind = Kind::inlined;
  std::uint32_t packet = 0;
  std::byte* room = nullptr;
  std::uint64_t token = 0;           // of an access; of a region_access its place in the AccessTable
  LocalRegistration registration{};  // of the memory that a fetch writes
};

/// Work requests in the order in which they were posted, which is the order in which they complete. Most do
/// not ask for a completion (they are not signalled): a later one that does completes them, too. Positions
/// are counted modulo 2^32. One thread at a time.
class SendQueue {
 public:
  static constexpr std::uint32_t kDepth = 64;
  /// Of so many in a row at least one is signalled, so that a full queue always has one under way.
  static constexpr std::uint32_t kSignalEvery = 16;

  [[nodiscard]] bool is_full() const noexcept { return under_way() == kDepth; }
  [[nodiscard]] std::uint32_t under_way() const noexcept { return posted_ - completed_; }
  /// Returns true when a completion will come.
  [[nodiscard]] bool awaits_completion() const noexcept {
    return static_cast<std::int32_t>(signalled_ - completed_) > 0;
  }
  /// Returns true when the next one must be signalled.
  [[nodiscard]] bool is_signal_due() const noexcept { return posted_ - signalled_ >= kSignalEvery - 1; }
  /// The position of the next one.
  [[nodiscard]] std::uint32_t position() const noexcept { return posted_; }

  /// Notes the one at position(); the queue is not full.
  void add(Work work, bool is_signalled) noexcept {
    work_[posted_ % kDepth] = std::move(work);
    ++posted_;
    if (is_signalled) signalled_ = posted_;
  }
  /// Calls `end(work, is_last)` for each one up to `position`, which is the last. Does nothing when it has
  /// been completed before.
  template <class End>
  void complete(std::uint32_t position, const End& end) noexcept {
    if (position - completed_ >= under_way()) return;
    do {
      Work& work = work_[completed_ % kDepth];
      end(work, completed_ == position);
      work = {};
    } while (completed_++ != position);
    if (static_cast<std::int32_t>(signalled_ - completed_) < 0) signalled_ = completed_;
  }

  /// Calls `end(work)` for all.
  template <class End>
  void complete_all(const End& end) noexcept {
    complete(posted_ - 1, [&](Work& work, bool) { end(work); });
  }

 private:
  std::array<Work, kDepth> work_{};
  std::uint32_t posted_ = 0;
  std::uint32_t completed_ = 0;
  std::uint32_t signalled_ = 0;  // the position behind the last signalled one
};

}  // namespace weft::network::ibv
