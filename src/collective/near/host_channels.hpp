// Messages between the members of a team on one host, through memory that they share.
#pragma once

#include "collective/near/channel_layout.hpp"

#include <weft/collective/team.hpp>
#include <weft/memory.hpp>
#include <weft/remote_region.hpp>
#include <weft/types.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weft {
class Runtime;
}

namespace weft::collective {

/// An inbox in shared memory for each member, with a channel for each of the others: a few slots, which hold
/// short messages, and a ring for the payloads of longer ones. Messages of a channel arrive in their order.
/// A word says what a message is, and who waits for another one lets it lie.
///
/// The thread that calls collectives sends and receives; nobody else does. Who has left the team has closed
/// its inbox: what is written there is lost.
class HostChannels {
 public:
  /// With more members on a host no memory is shared.
  static constexpr int kMostMembers = 64;

  HostChannels(Runtime& runtime, const Team& team);
  ~HostChannels();
  HostChannels(const HostChannels&) = delete;
  HostChannels& operator=(const HostChannels&) = delete;

  /// Returns false when nobody on this host has memory in common with this rank. All members on a host have
  /// the same answer.
  [[nodiscard]] bool are_possible() const noexcept { return members_.size() > 1; }
  /// The ranks in the team of the members on this host; and the index of this rank among them.
  [[nodiscard]] std::span<const int> members() const noexcept { return members_; }
  [[nodiscard]] int own() const noexcept { return own_; }
  /// Returns true when all members of the team are on this host.
  [[nodiscard]] bool are_whole_team() const noexcept { return is_whole_; }
  /// The longest message that goes this way: longer ones are faster where the receiver reads them from the
  /// sender's memory, which copies them once.
  static constexpr std::size_t kMostBytes = 2048;

  // Connecting: each member opens its inbox and tells the others its key; each maps those of the others, and
  // tells whether it could; where all could, all connect.
  /// Returns the key of this rank's inbox; an empty one when there is no memory.
  [[nodiscard]] RemoteRegion open() noexcept;
  [[nodiscard]] bool map(int member, const RemoteRegion& key) noexcept;
  void connect() noexcept { is_connected_ = true; }
  [[nodiscard]] bool are_connected() const noexcept { return is_connected_; }

  /// The index among members() of a rank of the team, or -1. Only when connected.
  [[nodiscard]] int member_of(int rank) const noexcept {
    if (is_whole_) return index_of_[static_cast<std::size_t>(rank)];
    const auto found = std::ranges::lower_bound(sorted_, std::array{rank, 0});
    return found != sorted_.end() && (*found)[0] == rank ? (*found)[1] : -1;
  }
  /// Returns false when the member has closed its inbox.
  [[nodiscard]] bool is_open(int member) const noexcept {
    return out_[static_cast<std::size_t>(member)].inbox->is_open.load(std::memory_order_acquire) ==
           Inbox::kOpen;
  }
  /// Copies a message of at most kMostBytes; `word` (MessageWord) says what it is. Returns false when the
  /// channel is full.
  bool send(int member, std::uint64_t word, Bytes bytes) noexcept;
  /// Returns the length of the message with this word, which is cut to the buffer; nothing when it has not
  /// come. Messages of earlier runs that lie before it are dropped. A length beyond kMostBytes is none that a
  /// member sends: nothing has been copied then.
  std::optional<std::size_t> receive(int member, std::uint64_t word, std::span<std::byte> buffer) noexcept;

 private:
  struct Out {
    MappedRegion region;
    Inbox* inbox = nullptr;
    Channel* channel = nullptr;
    std::byte* ring = nullptr;
    std::uint32_t sent = 0;
    std::uint32_t known_received = 0;
    RingPositions positions;
    std::uint64_t ring_tail = 0;                        // bytes that are free again
    std::array<std::uint64_t, Channel::kSlots> ends{};  // head of the ring after the message in each slot
  };
  struct In {
    Channel* channel = nullptr;
    const std::byte* ring = nullptr;
    std::uint32_t received = 0;
    RingPositions positions;  // counted here: the sender could write anything anywhere
  };

  static_assert(RingPositions::kBytes >= 2 * kMostBytes);
  static constexpr std::size_t kStride = sizeof(Channel) + RingPositions::kBytes;
  [[nodiscard]] std::size_t inbox_bytes() const noexcept { return sizeof(Inbox) + members_.size() * kStride; }
  [[nodiscard]] static Channel* channel_at(std::byte* inbox, int sender) noexcept {
    return reinterpret_cast<Channel*>(inbox + sizeof(Inbox) + static_cast<std::size_t>(sender) * kStride);
  }
  static void look_for_room(Out& out) noexcept;
  /// Copies what fits of the next message, and gives its slot back. Returns its length.
  static std::size_t take(In& in, std::span<std::byte> buffer) noexcept;
  static void finish(In& in) noexcept {
    // Pairs with the acquire in look_for_room(): the payload has been read.
    in.channel->received.store(++in.received, std::memory_order_release);
  }

  Runtime& runtime_;
  std::vector<int> members_;
  std::vector<std::array<int, 2>> sorted_;  // ranks of the team, and their indexes; of a part of the team
  std::vector<int> index_of_;               // by rank; of the whole team
  int own_ = -1;
  bool is_whole_ = false;
  bool is_connected_ = false;
  MemoryRegion region_;
  std::vector<Out> out_;
  std::vector<In> in_;
};

}  // namespace weft::collective
