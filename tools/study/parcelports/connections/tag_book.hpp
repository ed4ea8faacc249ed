// Which tags the follow-up messages of each peer have, so that no tag is used again before its messages have
// been received.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "study/parcelports/connections/two_sided.hpp"

namespace weft::parcel::ports {

/// Any thread.
class TagBook {
 public:
  TagBook(int ranks, TagPolicy policy, std::uint64_t tags);

  /// A number for a message to `peer` with `followups` follow-up messages; nothing: not now.
  [[nodiscard]] std::optional<std::uint64_t> take(int peer, std::uint64_t followups);
  /// Gives a number back whose header was not sent. False: it cannot be, and must be used.
  [[nodiscard]] bool give_back(std::uint64_t number, std::uint64_t followups);
  /// The tag of a message's follow-up message, the first being 0.
  [[nodiscard]] std::uint64_t tag_of(std::uint64_t number, std::uint64_t followup) const noexcept;

  /// `peer` has finished all numbers below `count`.
  void peer_has_finished(int peer, std::uint64_t count) noexcept;
  /// The tag comes back (TagPolicy::provider). False: it was not taken.
  [[nodiscard]] bool release(std::uint64_t tag);

  /// The header of a message of `source` with this number has come. False: no message can have it now, since
  /// another one has, or its tags.
  [[nodiscard]] bool begin(int source, std::uint64_t number);
  /// All follow-up messages of the number, which has begun, have come from `source`.
  void finish(int source, std::uint64_t number);
  /// How many numbers of `source` are finished without a gap.
  [[nodiscard]] std::uint64_t finished_of(int source) const noexcept;
  /// As finished_of(), when the source would soon lack numbers if nothing was reported to it; it counts as
  /// reported.
  [[nodiscard]] std::optional<std::uint64_t> updates_for(int source) noexcept;
  /// `count` has been reported to `source`, by a header that went there anyway.
  void set_reported(int source, std::uint64_t count) noexcept;

 private:
  struct Peer {
    std::atomic<std::uint64_t> next{0};          // the number of the next message to the peer
    std::atomic<std::uint64_t> has_finished{0};  // what the peer has reported
    std::mutex mutex;                            // of the two below
    std::vector<bool> has_begun;                 // by number modulo the tags
    std::vector<bool> is_finished;
    std::atomic<std::uint64_t> finished{0};  // the peer's numbers, without a gap
    std::atomic<std::uint64_t> reported{0};
  };
  [[nodiscard]] Peer& of(int rank) const noexcept { return *peers_[static_cast<std::size_t>(rank)]; }

  const TagPolicy policy_;
  const std::uint64_t tags_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::mutex free_mutex_;
  std::vector<std::uint64_t> free_;
  std::vector<bool> is_free_;
};

}  // namespace weft::parcel::ports
