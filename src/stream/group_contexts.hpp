// The contexts of stream groups: numbers that keep the messages of groups apart, agreed by all ranks.
#pragma once

#include <weft/stream/stream_group.hpp>

#include <bitset>
#include <cstdint>
#include <mutex>

namespace weft::stream {

/// What a rank proposes for a new group; what all have proposed is combined by join().
struct ContextProposal {
  std::uint32_t streams = 0;
  bool has_one_twice = false;
  std::uint32_t next = 0;  // contexts from here on were not used for longest
  std::bitset<weft::detail::StreamWords::kContexts> used;

  void join(const ContextProposal& other) noexcept {
    next = next > other.next ? next : other.next;
    used |= other.used;
    has_one_twice = has_one_twice || other.has_one_twice;
  }
};

/// One for each runtime. Any thread.
class GroupContexts {
 public:
  void propose(ContextProposal& proposal) {
    const std::lock_guard lock(mutex_);
    proposal.next = next_;
    proposal.used = used_;
  }
  /// The context of the group for which all ranks have joined this proposal; kContexts: all are in use.
  [[nodiscard]] std::uint32_t take(const ContextProposal& joined) {
    constexpr std::uint32_t kContexts = weft::detail::StreamWords::kContexts;
    const std::lock_guard lock(mutex_);
    for (std::uint32_t step = 0; step < kContexts; ++step) {
      const std::uint32_t context = (joined.next + step) % kContexts;
      if (joined.used[context]) continue;
      used_[context] = true;
      // Monotone, so that the largest of all ranks is the latest.
      next_ = joined.next + step + 1;
      return context;
    }
    return kContexts;
  }
  void release(std::uint32_t context) noexcept {
    const std::lock_guard lock(mutex_);
    used_[context] = false;
  }

 private:
  std::mutex mutex_;
  std::uint32_t next_ = 0;
  std::bitset<weft::detail::StreamWords::kContexts> used_;
};

}  // namespace weft::stream
