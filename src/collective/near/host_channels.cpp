#include "collective/near/host_channels.hpp"

#include <weft/binding/library_memory.hpp>
#include <weft/error.hpp>
#include <weft/runtime.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

namespace weft::collective {

namespace {

// Inboxes of a process: half of the regions that libraries have beside the program's
// (network/region_count.hpp).
constexpr int kMostInboxes = 64;
constexpr std::uint32_t kAhead = 3;  // slots
std::atomic<int> inboxes{0};

bool have_shared_memory(const Runtime& runtime) {
  const std::string_view network = runtime.network();
  return network == "shm" || network == "mixed";
}

void copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes == 8)
    std::memcpy(to, from, 8);
  else if (bytes != 0)
    std::memcpy(to, from, bytes);
}

}  // namespace

HostChannels::HostChannels(Runtime& runtime, const Team& team) : runtime_(runtime) {
  if (team.size() < 2 || !have_shared_memory(runtime)) return;
  std::vector<int> members;
  for (const int rank : runtime.local_ranks()) {
    const int member = team.rank_of(rank);
    if (member < 0) continue;
    if (static_cast<int>(members.size()) == kMostMembers) return;
    if (rank == runtime.rank()) own_ = static_cast<int>(members.size());
    members.push_back(member);
  }
  if (members.size() < 2) return;
  is_whole_ = static_cast<int>(members.size()) == team.size();
  if (is_whole_) index_of_.resize(members.size());
  for (int index = 0; const int member : members) {
    if (is_whole_)
      index_of_[static_cast<std::size_t>(member)] = index++;
    else
      sorted_.push_back({member, index++});
  }
  std::ranges::sort(sorted_);
  members_ = std::move(members);
}

HostChannels::~HostChannels() {
  if (!region_) return;
  reinterpret_cast<Inbox*>(region_.bytes().data())->is_open.store(0, std::memory_order_release);
  inboxes.fetch_sub(1, std::memory_order_relaxed);
}

RemoteRegion HostChannels::open() noexcept {
  if (inboxes.fetch_add(1, std::memory_order_relaxed) < kMostInboxes) {
    try {
      out_.resize(members_.size());
      in_.resize(members_.size());
      const LibraryMemory apart;
      region_ = MemoryRegion::allocate(runtime_, inbox_bytes());
      std::byte* const inbox = region_.bytes().data();
      for (int sender = 0; sender < static_cast<int>(members_.size()); ++sender) {
        Channel* const channel = std::construct_at(channel_at(inbox, sender));
        In& in = in_[static_cast<std::size_t>(sender)];
        in.channel = channel;
        in.ring = reinterpret_cast<const std::byte*>(channel + 1);
      }
      std::construct_at(reinterpret_cast<Inbox*>(inbox))
          ->is_open.store(Inbox::kOpen, std::memory_order_release);
      return region_.remote();
    } catch (const std::exception&) {
      // No region is free, or no memory: messages go another way.
    }
  }
  inboxes.fetch_sub(1, std::memory_order_relaxed);
  return {};
}

bool HostChannels::map(int member, const RemoteRegion& key) noexcept try {
  if (key.rank < 0 || key.bytes != inbox_bytes() || !region_) return false;
  Out& out = out_[static_cast<std::size_t>(member)];
  out.region = weft::map(runtime_, key);
  if (!out.region.is_direct() || out.region.bytes().size() < inbox_bytes()) return false;
  std::byte* const inbox = out.region.bytes().data();
  out.inbox = reinterpret_cast<Inbox*>(inbox);
  out.channel = channel_at(inbox, own_);
  out.ring = reinterpret_cast<std::byte*>(out.channel + 1);
  return true;
} catch (const std::exception&) {
  return false;
}

void HostChannels::look_for_room(Out& out) noexcept {
  // Pairs with the release in finish().
  const std::uint32_t received = out.channel->received.load(std::memory_order_acquire);
  // Not what a peer can have received: the memory of one that has left.
  if (out.sent - received > Channel::kSlots || received == out.known_received) return;
  out.known_received = received;
  out.ring_tail = out.ends[(received - 1) % Channel::kSlots];
}

bool HostChannels::send(int member, std::uint64_t word, Bytes bytes) noexcept {
  Out& out = out_[static_cast<std::size_t>(member)];
  if (out.sent - out.known_received == Channel::kSlots) [[unlikely]] {
    look_for_room(out);
    if (out.sent - out.known_received == Channel::kSlots) return false;
  }
  ChannelSlot& slot = out.channel->slots[out.sent % Channel::kSlots];
  // The receiver has read it in its last lap: this thread has it back when its turn comes.
  __builtin_prefetch(&out.channel->slots[(out.sent + kAhead) % Channel::kSlots], 1);
  const std::size_t size = bytes.size();
  if (size <= ChannelSlot::kBytes) {
    copy(slot.data, bytes.data(), size);
  } else {
    const RingPositions::Position position = out.positions.next(size);
    if (position.end - out.ring_tail > RingPositions::kBytes) {
      look_for_room(out);
      if (position.end - out.ring_tail > RingPositions::kBytes) return false;
    }
    std::memcpy(out.ring + position.offset(), bytes.data(), size);
    out.positions.take(position);
  }
  slot.size.store(size, std::memory_order_relaxed);
  out.ends[out.sent % Channel::kSlots] = out.positions.head();
  ++out.sent;
  // Pairs with the acquire in receive().
  slot.stamp.store(MessageWord::stamp_of(word, out.sent), std::memory_order_release);
  return true;
}

std::optional<std::size_t> HostChannels::receive(int member, std::uint64_t word,
                                                 std::span<std::byte> buffer) noexcept {
  In& in = in_[static_cast<std::size_t>(member)];
  for (;;) {
    // Pairs with the release in send().
    const std::uint64_t stamp =
        in.channel->slots[in.received % Channel::kSlots].stamp.load(std::memory_order_acquire);
    if (stamp == MessageWord::stamp_of(word, in.received + 1)) return take(in, buffer);
    if (MessageWord::number_in(stamp) != MessageWord::number_in(in.received + 1) ||
        !MessageWord::is_of_earlier_run(MessageWord::word_in(stamp), word))
      return std::nullopt;
    // The rest of a run that has ended otherwise, as one of other lengths has.
    static_cast<void>(take(in, {}));
  }
}

std::size_t HostChannels::take(In& in, std::span<std::byte> buffer) noexcept {
  const ChannelSlot& slot = in.channel->slots[in.received % Channel::kSlots];
  // Another process has written it, and may write again: it is read once, and judged by what was read.
  const std::size_t size = slot.size.load(std::memory_order_relaxed);
  const std::size_t taken = std::min(size, buffer.size());
  if (size <= ChannelSlot::kBytes) {
    copy(buffer.data(), slot.data, taken);
  } else if (size <= kMostBytes) {
    const RingPositions::Position position = in.positions.next(size);
    in.positions.take(position);
    copy(buffer.data(), in.ring + position.offset(), taken);
  }
  finish(in);
  return size;
}

}  // namespace weft::collective
