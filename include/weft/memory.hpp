// Memory regions that peers put into and get from.
#pragma once

#include <weft/detail/direct_window.hpp>
#include <weft/detail/export.hpp>
#include <weft/local_region.hpp>
#include <weft/options.hpp>
#include <weft/remote_region.hpp>

#include <concepts>
#include <memory>
#include <span>

namespace weft {

class Runtime;

namespace detail {
class RuntimeState;
}

class MappedRegion;

/// A place in a mapped region. Light: it refers to the MappedRegion, which must outlive it.
class MappedAddress {
 public:
  MappedAddress(const MappedRegion& region, std::uint64_t offset) noexcept
      : region_(&region), offset_(offset) {}
  [[nodiscard]] const MappedRegion& region() const noexcept { return *region_; }
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  operator RemoteAddress() const noexcept;  // NOLINT: the same place, by value

 private:
  const MappedRegion* region_;
  std::uint64_t offset_;
};

/// The types that `remote_region.at(offset)` and `mapped_region.at(offset)` return.
template <class T>
concept RemotePlace = std::same_as<T, RemoteAddress> || std::same_as<T, MappedAddress>;

/// A peer's region as this process has it mapped: puts and gets through it are loads and stores. Freely
/// copied, valid as long as the runtime. Once the owner has released the region, accesses are refused and the
/// mapping ends: it costs this process nothing any more, however many objects still refer to it. A loop over
/// many accesses is faster with a copy of its own, a local variable, whose contents it can keep in registers.
class MappedRegion {
 public:
  MappedRegion() noexcept = default;
  MappedRegion(const RemoteRegion& region, const detail::DirectWindow* window) noexcept : region_(region) {
    if (window != nullptr) view_ = *window;
  }

  /// Returns true when the memory is mapped. If it is not, accesses to at() go through the network.
  [[nodiscard]] bool is_direct() const noexcept { return view_.base != nullptr; }
  [[nodiscard]] const RemoteRegion& region() const noexcept { return region_; }
  [[nodiscard]] std::size_t size() const noexcept { return region_.bytes; }
  [[nodiscard]] MappedAddress at(std::uint64_t offset) const noexcept { return {*this, offset}; }
  /// The memory itself, for loads, stores and std::atomic_ref; empty unless is_direct(). Ordering is then the
  /// caller's business, and the owner must not release the region meanwhile.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {view_.base, view_.size}; }

 private:
  friend class MappedAddress;
  template <class Derived, class Locking>
  friend class OneSidedOperations;
  template <class Derived, class Locking>
  friend class AtomicOperations;

  RemoteRegion region_;
  // The mapping, by value, so that a loop has it in registers; allows no access when the region is not
  // mapped.
  detail::DirectWindow view_ = detail::kNoWindow;
};

inline MappedAddress::operator RemoteAddress() const noexcept {
  return {region_->region_, offset_, region_->is_direct()};
}

/// Memory of this rank that peers may access. Move-only; the destructor ends the access: it returns when no
/// put or get of a peer is under way in the memory any more, and accesses that arrive later are refused.
/// Registering and releasing are set-up, not data path; any thread. In a handler: two handlers inside the
/// progress of different devices that each end a region, or withdraw an object, wait for each other. At most
/// `regions_max` (attribute) at a time. Must be destroyed before its runtime, which otherwise names it and
/// aborts.
class WEFT_API MemoryRegion {
 public:
  MemoryRegion() noexcept = default;
  /// Registers memory of the user, which must outlive the region. 0 bytes are a region of length 0. Accesses
  /// to memory that is read-only, protected or unmapped end with Outcome::refused at their initiator. Throws
  /// weft::Error when there is no free region or the network cannot register it.
  MemoryRegion(Runtime& runtime, std::span<std::byte> memory, const RegionOptions& options = {});
  /// Allocates `size` zeroed bytes, aligned to a page, that peers on this host can map. Throws weft::Error.
  [[nodiscard]] static MemoryRegion allocate(Runtime& runtime, std::size_t size,
                                             const RegionOptions& options = {});
  ~MemoryRegion();
  MemoryRegion(MemoryRegion&& other) noexcept;
  MemoryRegion& operator=(MemoryRegion&& other) noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return runtime_ != nullptr; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return memory_; }
  [[nodiscard]] std::size_t size() const noexcept { return memory_.size(); }
  /// The key by which peers address the region.
  [[nodiscard]] const RemoteRegion& remote() const noexcept { return remote_; }

 private:
  void release() noexcept;

  detail::RuntimeState* runtime_ = nullptr;
  std::span<std::byte> memory_;
  RemoteRegion remote_;
};

inline LocalRegion::LocalRegion(const MemoryRegion& region) noexcept
    : index_(region.remote().index), generation_(region.remote().generation) {}

/// Maps a peer's region where that is possible: memory that the peer has allocated through weft, on this
/// host. Set-up, not data path; any thread. Throws weft::Error when `region.rank` is not a rank of the job.
[[nodiscard]] WEFT_API MappedRegion map(Runtime& runtime, const RemoteRegion& region);

}  // namespace weft
