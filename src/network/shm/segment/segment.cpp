#include "network/shm/segment/segment.hpp"

#include "base/memory/memory_file.hpp"
#include "base/system_call.hpp"
#include "base/uninterrupted.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace weft::network::shm {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kPunched = 64 * 1024;  // freed memory of at least this size goes back to the system

constexpr std::uint64_t align(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }
constexpr std::uint64_t page_align(std::uint64_t bytes) { return align(bytes, kPage); }
/// Rounds up to an offset that the kernel can map by itself: its pages may be larger than kPage.
std::uint64_t mapping_align(std::uint64_t bytes) noexcept {
  return align(bytes, std::max(kPage, static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))));
}

std::string name_of(const SegmentGeometry& geometry) {
  return "shm: a shared segment of " + std::to_string(geometry.bytes) +
         " bytes (attribute segment_size, WEFT_SEGMENT_SIZE)";
}

Mapping map(int descriptor, const SegmentGeometry& geometry) {
  void* base =
      ::mmap(nullptr, geometry.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (base == MAP_FAILED)
    throw Error(ErrorClass::network,
                name_of(geometry) + " cannot be mapped: " + base::failed_call("mmap", errno));
  return {static_cast<std::byte*>(base), geometry.bytes};
}

}  // namespace

std::uint64_t hidden_from_children(const void* segment) noexcept {
  const auto& header = *static_cast<const SegmentHeader*>(segment);
  return std::min(page_align(header.packets_offset), page_align(header.bytes));
}

Mapping::Mapping(Mapping&& other) noexcept : base_(other.base_), bytes_(other.bytes_) {
  other.base_ = nullptr;
}

Mapping::~Mapping() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

Segment::Segment(int rank, std::string_view job_id, const SegmentGeometry& geometry)
    : file_(base::make_memory_file(("weft-rank-" + std::to_string(rank)).c_str(), geometry.bytes, 0,
                                   name_of(geometry))),
      mapping_(map(file_.get(), geometry)),
      watch_(mapping_.base(), mapping_.bytes(), file_.get(), hidden_from_children) {
  const std::uint64_t regions_offset =
      page_align(kDevicesOffset + geometry.devices_max * device_stride(geometry.lanes, geometry.ranks));
  const std::uint64_t packets_offset =
      mapping_align(regions_offset + std::uint64_t{geometry.regions_max} * sizeof(RegionEntry));
  const std::uint64_t stride = sizeof(PacketHeader) + (geometry.packet_payload + 63) / 64 * 64;
  heap_begin_ = page_align(packets_offset + stride * geometry.packets);
  if (heap_begin_ + ring_bytes(4096) > geometry.bytes)
    throw Error(ErrorClass::network, "shm: segment_size " + std::to_string(geometry.bytes) +
                                         " is too small for " + std::to_string(geometry.packets) +
                                         " packets of " + std::to_string(geometry.packet_payload) +
                                         " bytes, " + std::to_string(geometry.devices_max) + " devices and " +
                                         std::to_string(geometry.regions_max) + " regions: at least " +
                                         std::to_string(heap_begin_ + ring_bytes(4096)) +
                                         " bytes are needed");
  // The file is zero-filled, so every atomic starts at zero; only what differs is written.
  auto& header = *new (mapping_.base()) SegmentHeader{};
  header.magic = kMagic;
  header.layout_version = kLayoutVersion;
  header.rank = rank;
  job_id.copy(header.job_id.data(), header.job_id.size() - 1);
  header.bytes = geometry.bytes;
  header.packets_offset = packets_offset;
  header.packet_stride = stride;
  header.packet_payload = geometry.packet_payload;
  header.packet_count = geometry.packets;
  header.devices_max = geometry.devices_max;
  header.regions_max = geometry.regions_max;
  header.regions_offset = regions_offset;
  header.lanes = geometry.lanes;
  header.ranks = geometry.ranks;
  header.device_stride = device_stride(geometry.lanes, geometry.ranks);
  heap_ = SegmentHeap(heap_begin_, geometry.bytes / kPage * kPage);
  mapping_.open_handles()[0].store(detail::closed_handle(0), std::memory_order_relaxed);
  header.presence.store(Presence::open, std::memory_order_release);
}

Segment::~Segment() { mapping_.header().presence.store(Presence::closed, std::memory_order_release); }

Segment::Ring Segment::allocate(std::uint32_t slots, std::uint64_t most) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return {};
  reclaim();
  // A ring has pages of its own: processors fetch ahead up to the end of a page, and two devices must not
  // even share lines that are fetched for nothing.
  const std::uint64_t bytes = page_align(ring_bytes(slots));
  const std::uint64_t offset = heap_.used() + bytes <= most ? heap_.take(bytes) : 0;
  return offset != 0 ? Ring{offset, slots} : Ring{.is_full = true};
}

/// Releases the rings that no receiver reads any more. Under the mutex.
void Segment::reclaim() noexcept {
  std::erase_if(retired_, [&](const Retired& retired) {
    // Both loads pair with the releases of the receiver, which will not touch the ring any more.
    const bool is_free = control(retired.ring).released.load(std::memory_order_acquire) != 0 ||
                         (retired.receiver != nullptr &&
                          retired.receiver->load(std::memory_order_acquire) == Presence::closed);
    if (!is_free) return false;
    const std::uint64_t bytes = page_align(ring_bytes(retired.ring.slots));
    clear(retired.ring.offset, bytes);
    release_half(retired.reply_slot);
    try {
      heap_.release(retired.ring.offset, bytes);
    } catch (const std::bad_alloc&) {
      // The range is lost to this segment.
    }
    return true;
  });
}

/// Zeroes a range, so that later allocations find zeroes. Under the mutex.
void Segment::clear(std::uint64_t offset, std::uint64_t bytes) noexcept {
  const auto punch = [&] {
    return ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                       static_cast<off_t>(bytes));
  };
  if (bytes >= kPunched && base::uninterrupted(punch) == 0) return;
  std::memset(mapping_.base() + offset, 0, bytes);
}

std::uint64_t Segment::allocate_reply_slot() noexcept try {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return 0;
  reclaim();
  if (free_reply_slots_.empty()) {
    constexpr std::uint64_t kTogether = page_align(4 * kReplySlotBytes);
    free_reply_slots_.reserve(4);
    const std::uint64_t offset = heap_.used() + kTogether <= heap_bytes() / 4 * 3 ? heap_.take(kTogether) : 0;
    if (offset == 0) return 0;
    for (std::uint64_t within = 0; within + kReplySlotBytes <= kTogether; within += kReplySlotBytes)
      free_reply_slots_.push_back(offset + within);
  }
  const std::uint64_t offset = free_reply_slots_.back();
  reply_slot_halves_[offset] = 2;
  free_reply_slots_.pop_back();
  return offset;
} catch (const std::bad_alloc&) {
  return 0;
}

/// Releases the half of a reply slot that belongs to one of its two lanes. Under the mutex.
void Segment::release_half(std::uint64_t reply_slot) noexcept {
  const auto found = reply_slot_halves_.find(reply_slot);
  if (found == reply_slot_halves_.end() || --found->second != 0) return;
  clear(reply_slot, kReplySlotBytes);
  reply_slot_halves_.erase(found);
  try {
    free_reply_slots_.push_back(reply_slot);
  } catch (const std::bad_alloc&) {
    // The reply slot is lost to this segment.
  }
}

void Segment::release_reply_slot(std::uint64_t offset) noexcept {
  const std::lock_guard lock(mutex_);
  release_half(offset);
}

void Segment::retire_ring(Ring ring, std::uint64_t reply_slot,
                          const std::atomic<Presence>* receiver) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    retired_.push_back({ring, reply_slot, receiver});
  } catch (const std::bad_alloc&) {
    // The ring stays allocated until the segment is unmapped.
  }
}

std::uint64_t Segment::used_bytes() noexcept {
  const std::lock_guard lock(mutex_);
  reclaim();
  return heap_.used();
}

}  // namespace weft::network::shm
