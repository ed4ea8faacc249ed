// Puts and gets on shared memory: copies where the region is mapped or lies in this process, cross-memory
// attach where the kernel permits it.
#include "base/memory/bulk_copy.hpp"
#include "base/memory/guarded_copy.hpp"
#include "network/shm/port/port.hpp"

#include <sys/uio.h>
#include <cerrno>
#include <cstring>

namespace weft::network::shm {

namespace {

/// Copies between this process and another one until all is copied.
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

}  // namespace

/// Finds the owner of a region; returns `done` when there may be a region of that name.
AccessResult ShmPort::find_peer(int rank, RegionName name, const Peer*& peer) noexcept {
  peer = shared_.peers->contact(rank);
  if (peer == nullptr)
    return shared_.peers->departed(rank) ? AccessResult::peer_left : AccessResult::not_ready;
  if (peer->has_left()) return AccessResult::peer_left;
  return name.generation == 0 || name.index >= peer->mapping->header().regions_max ? AccessResult::refused
                                                                                   : AccessResult::done;
}

/// Puts or gets `size` bytes. A put only reads `local`.
AccessResult ShmPort::access(int rank, const RemoteMemory& memory, std::byte* local, std::size_t size,
                             bool is_put) noexcept {
  const Peer* peer = nullptr;
  const RegionName name = memory.region;
  if (const AccessResult known = find_peer(rank, name, peer); known != AccessResult::done) return known;
  RemoteWindows::Found found = shared_.remote_windows->find(*peer, name);
  if (!found.is_known) {
    RegionEntry& entry = peer->mapping->region(name.index);
    const RegionVisit visit(entry);
    if (!visit.is_open(name)) return closed_region(*peer);
    if (entry.kind == RegionKind::registered) {
      if (memory.offset > entry.size || size > entry.size - memory.offset) return AccessResult::refused;
      const std::uint64_t address = entry.base + memory.offset;
      if (peer->same_process) {
        auto* const there = reinterpret_cast<std::byte*>(address);
        const bool is_done =
            is_put ? base::write_guarded(there, local, size) : base::read_guarded(local, there, size);
        return is_done ? AccessResult::done : AccessResult::refused;
      }
      return peer->can_read ? copy_across(*peer, address, local, size, is_put) : AccessResult::unsupported;
    }
    found = shared_.remote_windows->map(*peer, name, entry, false);
    if (!found.is_known) return AccessResult::lock_contended;
  }
  const detail::DirectWindow& window = found.window;
  if (!window.allows(memory.offset, size)) return closed_region(*peer);
  if (window.base == nullptr) return AccessResult::unsupported;
  copy(window.base + memory.offset, local, size, is_put);
  return AccessResult::done;
}

AccessResult ShmPort::locate(int rank, const RemoteMemory& memory, std::size_t size,
                             std::byte*& place) noexcept {
  const Peer* peer = nullptr;
  const RegionName name = memory.region;
  if (const AccessResult known = find_peer(rank, name, peer); known != AccessResult::done) return known;
  RemoteWindows::Found found = shared_.remote_windows->find(*peer, name);
  if (!found.is_known) {
    RegionEntry& entry = peer->mapping->region(name.index);
    const RegionVisit visit(entry);
    if (!visit.is_open(name)) return closed_region(*peer);
    if (entry.kind == RegionKind::registered) return AccessResult::unsupported;
    found = shared_.remote_windows->map(*peer, name, entry, false);
    if (!found.is_known) return AccessResult::lock_contended;
  }
  const detail::DirectWindow& window = found.window;
  if (!window.allows(memory.offset, size)) return closed_region(*peer);
  if (window.base == nullptr) return AccessResult::unsupported;
  place = window.base + memory.offset;
  return AccessResult::done;
}

AccessResult ShmPort::put(int peer, const RemoteMemory& to, Bytes from, const std::uint64_t*, std::uint64_t,
                          bool) noexcept {
  return access(peer, to, const_cast<std::byte*>(from.data()), from.size(), true);
}

AccessResult ShmPort::get(int peer, const RemoteMemory& from, std::span<std::byte> to, std::uint64_t,
                          bool) noexcept {
  return access(peer, from, to.data(), to.size(), false);
}

}  // namespace weft::network::shm
