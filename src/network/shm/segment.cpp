#include "network/shm/segment.hpp"

#include <weft/error.hpp>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <new>

namespace weft::network::shm {

namespace {

constexpr std::uint64_t kPage = 4096;

constexpr std::uint64_t page_align(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

Mapping create(int& descriptor, int rank, const SegmentGeometry& geometry) {
  const std::string name = "weft-rank-" + std::to_string(rank);
  descriptor = ::memfd_create(name.c_str(), MFD_CLOEXEC);
  if (descriptor < 0 || ::fchmod(descriptor, 0600) != 0 ||
      ::ftruncate(descriptor, static_cast<off_t>(geometry.bytes)) != 0)
    throw Error("shm: cannot create a shared segment of " + std::to_string(geometry.bytes) +
                " bytes (attribute segment_size): " + std::strerror(errno));
  void* base =
      ::mmap(nullptr, geometry.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (base == MAP_FAILED)
    throw Error("shm: cannot map a shared segment of " + std::to_string(geometry.bytes) +
                " bytes (attribute segment_size): " + std::strerror(errno));
  return {static_cast<std::byte*>(base), geometry.bytes};
}

}  // namespace

Mapping::Mapping(Mapping&& other) noexcept : base_(other.base_), bytes_(other.bytes_) {
  other.base_ = nullptr;
}

Mapping::~Mapping() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

Segment::Segment(int rank, std::string_view job_id, const SegmentGeometry& geometry)
    : mapping_(create(descriptor_, rank, geometry)) {
  const std::uint64_t regions_offset = page_align(kDevicesOffset + geometry.devices_max * sizeof(DeviceArea));
  const std::uint64_t packets_offset =
      page_align(regions_offset + std::uint64_t{geometry.regions_max} * sizeof(RegionEntry));
  const std::uint64_t stride = sizeof(PacketHeader) + (geometry.packet_payload + 63) / 64 * 64;
  heap_begin_ = page_align(packets_offset + stride * geometry.packets);
  heap_next_ = heap_begin_;
  if (heap_next_ + ring_bytes(4096) > geometry.bytes)
    throw Error("shm: segment_size " + std::to_string(geometry.bytes) + " is too small for " +
                std::to_string(geometry.packets) + " packets of " + std::to_string(geometry.packet_payload) +
                " bytes, " + std::to_string(geometry.devices_max) + " devices and " +
                std::to_string(geometry.regions_max) + " regions: at least " +
                std::to_string(heap_next_ + ring_bytes(4096)) + " bytes are needed");
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
  mapping_.open_handles()[0].store(detail::closed_handle(0), std::memory_order_relaxed);
  header.presence.store(Presence::open, std::memory_order_release);
}

Segment::~Segment() {
  mapping_.header().presence.store(Presence::closed, std::memory_order_release);
  ::close(descriptor_);
}

Segment::Ring Segment::allocate(std::uint32_t slots, std::uint64_t end) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return {};
  for (Ring& ring : retired_) {
    // Pairs with the release of the receiver that leaves the ring: it will not touch it any more.
    if (ring.slots == slots && control(ring).released.load(std::memory_order_acquire) != 0) {
      const Ring reused = ring;
      ring = retired_.back();
      retired_.pop_back();
      std::memset(mapping_.base() + reused.offset, 0, ring_bytes(reused.slots));
      return reused;
    }
  }
  if (heap_next_ > end || end - heap_next_ < ring_bytes(slots)) return {};
  const Ring ring{heap_next_, slots};
  // On pages of its own: processors fetch ahead up to the end of a page, and two devices must not even share
  // what is fetched for nothing.
  heap_next_ += page_align(ring_bytes(slots));
  return ring;
}

std::uint64_t Segment::allocate_shuttle() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return 0;
  if (shuttles_end_ - shuttles_next_ < kShuttleBytes) {
    constexpr std::uint64_t kTogether = page_align(4 * kShuttleBytes);
    if (heap_next_ > mapping_.bytes() || mapping_.bytes() - heap_next_ < kTogether) return 0;
    shuttles_next_ = heap_next_;
    shuttles_end_ = heap_next_ += kTogether;
  }
  const std::uint64_t offset = shuttles_next_;
  shuttles_next_ += kShuttleBytes;
  return offset;
}

void Segment::retire_ring(Ring ring) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    retired_.push_back(ring);
  } catch (const std::bad_alloc&) {
    // The ring stays allocated until the segment goes.
  }
}

}  // namespace weft::network::shm
