#include "collective/near/host_channels.hpp"

#include <weft/error.hpp>
#include <weft/runtime.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

namespace weft::collective {

namespace {

// Inboxes of a process: regions are the program's as well.
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
  if (is_whole_) place_of_.resize(members.size());
  for (int place = 0; const int member : members) {
    if (is_whole_)
      place_of_[static_cast<std::size_t>(member)] = place++;
    else
      sorted_.push_back({member, place++});
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
      region_ = MemoryRegion::allocate(runtime_, inbox_bytes());
      std::byte* const inbox = region_.bytes().data();
      for (int sender = 0; sender < static_cast<int>(members_.size()); ++sender) {
        Channel* const channel = std::construct_at(channel_at(inbox, sender));
        in_[static_cast<std::size_t>(sender)] = {channel, reinterpret_cast<const std::byte*>(channel + 1)};
      }
      std::construct_at(reinterpret_cast<Inbox*>(inbox))->is_open.store(kOpen, std::memory_order_release);
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
  if (out.sent - received > kSlots || received == out.known_received) return;
  out.known_received = received;
  out.ring_tail = out.ends[(received - 1) % kSlots];
}

bool HostChannels::send(int member, std::uint32_t word, Bytes bytes) noexcept {
  Out& out = out_[static_cast<std::size_t>(member)];
  if (out.sent - out.known_received == kSlots) [[unlikely]] {
    look_for_room(out);
    if (out.sent - out.known_received == kSlots) return false;
  }
  Slot& slot = out.channel->slots[out.sent % kSlots];
  // The receiver has read it in its last lap: this thread has it back when its turn comes.
  __builtin_prefetch(&out.channel->slots[(out.sent + kAhead) % kSlots], 1);
  const std::size_t size = bytes.size();
  if (size <= kInSlot) {
    copy(slot.data, bytes.data(), size);
  } else {
    // In one piece: what is left at the end of the ring is passed over.
    std::uint64_t begin = out.ring_head;
    if (begin % kRingBytes + size > kRingBytes) begin += kRingBytes - begin % kRingBytes;
    const std::uint64_t end = (begin + size + 63) / 64 * 64;
    if (end - out.ring_tail > kRingBytes) {
      look_for_room(out);
      if (end - out.ring_tail > kRingBytes) return false;
    }
    slot.begin = static_cast<std::uint32_t>(begin % kRingBytes);
    std::memcpy(out.ring + slot.begin, bytes.data(), size);
    out.ring_head = end;
  }
  slot.size = static_cast<std::uint32_t>(size);
  out.ends[out.sent % kSlots] = out.ring_head;
  ++out.sent;
  // Pairs with the acquire in receive().
  slot.stamp.store(std::uint64_t{word} << 32 | out.sent, std::memory_order_release);
  return true;
}

std::optional<std::size_t> HostChannels::receive(int member, std::uint32_t word,
                                                 std::span<std::byte> buffer) noexcept {
  In& in = in_[static_cast<std::size_t>(member)];
  for (;;) {
    const Slot& slot = in.channel->slots[in.received % kSlots];
    // Pairs with the release in send().
    const std::uint64_t stamp = slot.stamp.load(std::memory_order_acquire);
    if (static_cast<std::uint32_t>(stamp) != in.received + 1) return std::nullopt;
    const auto found = static_cast<std::uint32_t>(stamp >> 32);
    if (found == word) {
      const std::size_t size = slot.size;
      const std::size_t taken = std::min(size, buffer.size());
      if (size <= kInSlot)
        copy(buffer.data(), slot.data, taken);
      else if (slot.begin + taken <= kRingBytes)
        std::memcpy(buffer.data(), in.ring + slot.begin, taken);
      finish(in);
      return size;
    }
    // The rest of a run that has ended otherwise, as one of other lengths has.
    const std::uint32_t age = ((word >> 20) - (found >> 20)) & 0xfff;
    if (age == 0 || age >= 0x800) return std::nullopt;
    finish(in);
  }
}

}  // namespace weft::collective
