#include "network/shm/port/region_access.hpp"

#include "base/memory/bulk_copy.hpp"
#include "base/memory/guarded_copy.hpp"
#include "network/shm/memory/remote_windows.hpp"
#include "network/shm/segment/peers.hpp"

#include <sys/uio.h>
#include <cerrno>
#include <cstring>

namespace weft::network::shm {

namespace {

/// Copies between this process and another one until all is copied. A put only reads `local`.
AccessResult copy_across(const Peer& peer, std::uint64_t address, std::byte* local, std::size_t size,
                         bool is_put) noexcept {
  while (size != 0) {
    const iovec here{local, size};
    const iovec there{reinterpret_cast<void*>(address), size};
    const ssize_t count = is_put ? ::process_vm_writev(peer.process, &here, 1, &there, 1, 0)
                                 : ::process_vm_readv(peer.process, &here, 1, &there, 1, 0);
    if (count <= 0)
      return errno == ESRCH    ? AccessResult::peer_left
             : errno == EFAULT ? AccessResult::refused
                               : AccessResult::unsupported;
    local += count;
    address += static_cast<std::uint64_t>(count);
    size -= static_cast<std::size_t>(count);
  }
  return AccessResult::done;
}

void copy(std::byte* there, std::byte* local, std::size_t size, bool is_put) noexcept {
  if (size == 0) return;
  if (is_put)
    base::copy_bulk(there, local, size);
  else
    base::copy_bulk(local, there, size);
}

/// The result of an access to a region that is not open: its owner has released it, or has failed.
AccessResult closed_region(const Peer& owner) noexcept {
  // Pairs with the release in Peers::mark_departed(), which closes regions after the segment.
  std::atomic_thread_fence(std::memory_order_acquire);
  return owner.has_left() ? AccessResult::peer_left : AccessResult::refused;
}

/// Finds the owner of a region; returns `done` when there may be a region of that name.
AccessResult find_owner(Peers& peers, int rank, RegionName name, const Peer*& owner) noexcept {
  owner = peers.contact(rank);
  if (owner == nullptr) return peers.departed(rank) ? AccessResult::peer_left : AccessResult::not_ready;
  if (owner->has_left()) return AccessResult::peer_left;
  return name.generation == 0 || name.index >= owner->mapping->header().regions_max ? AccessResult::refused
                                                                                    : AccessResult::done;
}

}  // namespace

/// Finds `size` bytes of a region: `address` is set when the result is `done` and this process has the region
/// mapped. A region in the owner's private memory is handed to `registered` while it is open, which gives the
/// result.
template <class Registered>
AccessResult RegionAccess::find(int rank, const RemoteMemory& memory, std::size_t size, std::byte*& address,
                                const Registered& registered) noexcept {
  const Peer* owner = nullptr;
  const RegionName name = memory.region;
  if (const AccessResult known = find_owner(*shared_.peers, rank, name, owner); known != AccessResult::done)
    return known;
  RemoteWindows::Found found = shared_.remote_windows->find(*owner, name);
  if (!found.is_known) {
    RegionEntry& entry = owner->mapping->region(name.index);
    const RegionVisit visit(entry);
    if (!visit.is_open(name)) return closed_region(*owner);
    if (entry.kind == RegionKind::registered) return registered(*owner, entry);
    found = shared_.remote_windows->map(*owner, name, entry, false);
    if (!found.is_known) return AccessResult::lock_contended;
  }
  const detail::DirectWindow& window = found.window;
  if (!window.allows(memory.offset, size)) return closed_region(*owner);
  if (window.base == nullptr) return AccessResult::unsupported;
  address = window.base + memory.offset;
  return AccessResult::done;
}

/// Puts or gets `size` bytes. A put only reads `local`.
AccessResult RegionAccess::access(int rank, const RemoteMemory& memory, std::byte* local, std::size_t size,
                                  bool is_put) noexcept {
  std::byte* mapped = nullptr;
  const auto copy_registered = [&](const Peer& owner, const RegionEntry& entry) {
    if (memory.offset > entry.size || size > entry.size - memory.offset) return AccessResult::refused;
    const std::uint64_t address = entry.base + memory.offset;
    if (!owner.same_process)
      return owner.can_read ? copy_across(owner, address, local, size, is_put) : AccessResult::unsupported;
    auto* const there = reinterpret_cast<std::byte*>(address);
    const bool is_done =
        is_put ? base::write_guarded(there, local, size) : base::read_guarded(local, there, size);
    return is_done ? AccessResult::done : AccessResult::refused;
  };
  const AccessResult result = find(rank, memory, size, mapped, copy_registered);
  if (result == AccessResult::done && mapped != nullptr) copy(mapped, local, size, is_put);
  return result;
}

AccessResult RegionAccess::locate(int rank, const RemoteMemory& memory, std::size_t size,
                                  std::byte*& address) noexcept {
  return find(rank, memory, size, address,
              [](const Peer&, const RegionEntry&) { return AccessResult::unsupported; });
}

bool RegionAccess::read(int rank, std::uint64_t address, std::span<std::byte> local) noexcept {
  const Peer* from = shared_.peers->contact(rank);
  if (from == nullptr || !from->can_read) return false;
  if (!from->same_process)
    return copy_across(*from, address, local.data(), local.size(), false) == AccessResult::done;
  base::copy_bulk(local.data(), reinterpret_cast<const std::byte*>(address), local.size());
  return true;
}

}  // namespace weft::network::shm
