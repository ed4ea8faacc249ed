#include "network/shm/segment/peers.hpp"

#include <weft/error.hpp>

#include "base/host/host.hpp"
#include "base/system_call.hpp"
#include "base/uninterrupted.hpp"
#include "network/shm/segment/peer_descriptor.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace weft::network::shm {

namespace {

constexpr const char* kAddressKey = "shm.address";
constexpr const char* kMappingKey = "shm.segment";
constexpr const char* kMemoryKey = "shm.memory";

FileIdentity identity_of(int descriptor) {
  struct stat information {};
  return ::fstat(descriptor, &information) == 0 ? FileIdentity{information.st_dev, information.st_ino}
                                                : FileIdentity{};
}

/// Opens the file of a rank's segment. Returns an empty descriptor when the rank has left. `can_open` becomes
/// true when the files of the rank's process can be opened through /proc. Throws weft::Error.
base::Descriptor open_segment(bootstrap::Bootstrap& bootstrap, const Surroundings& own, int rank,
                              const Address& address, bool& can_open) {
  const bool is_known =
      own.has_own_proc && address.boot_id == own.boot_id && address.pid_namespace == own.pid_namespace;
  // Without the launcher, which serves all ranks in turn.
  if (is_known) {
    base::Descriptor file = open_of_process(address.process, address.descriptor);
    can_open = file && identity_of(file.get()) == address.file;
    if (can_open) return file;
  }
  if (address.is_lent != 0) {
    base::Descriptor file = bootstrap.borrow(rank, kSegmentKey);
    can_open = file && can_open_of_process(address.process, address.descriptor, file);
    return file;
  }
  if (!is_known)
    throw Error(
        ErrorClass::network,
        "shm: rank " + std::to_string(rank) +
            " runs on another host or in another process namespace, or /proc is not that of this one, and "
            "the launcher cannot pass its segment on (too few open files, `ulimit -n`)");
  base::Descriptor file = open_of_process(address.process, address.descriptor);
  if (file) return {};  // another file: the rank has closed its own
  if (errno != ENOENT && errno != ESRCH)
    throw Error(ErrorClass::network,
                "shm: the segment of rank " + std::to_string(rank) +
                    " cannot be opened through /proc: " + base::failed_call("open", errno) +
                    ", and the launcher cannot pass it on (too few open files, `ulimit -n`)");
  return {};
}

Mapping map_segment(int rank, const base::Descriptor& file, const Address& address) {
  const std::string name = "shm: the segment of rank " + std::to_string(rank) + " (" +
                           std::to_string(address.bytes) + " bytes, attribute segment_size)";
  struct stat information {};
  if (::fstat(file.get(), &information) != 0 || information.st_size != static_cast<off_t>(address.bytes) ||
      address.bytes < sizeof(SegmentHeader))
    throw Error(ErrorClass::network, name + " has another size than the rank says");
  void* base =
      ::mmap(nullptr, address.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
  if (base == MAP_FAILED)
    throw Error(ErrorClass::network, name + " cannot be mapped: " + base::failed_call("mmap", errno));
  return {static_cast<std::byte*>(base), address.bytes};
}

void check(int rank, const Mapping& mapping, std::string_view job_id) {
  const SegmentHeader& header = mapping.header();
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorClass::network, "shm: the segment of rank " + std::to_string(rank) + " has " + what);
  };
  if (header.magic != kMagic) refuse("no weft header");
  if (header.layout_version != kLayoutVersion)
    refuse("layout version " + std::to_string(header.layout_version) + ", this build needs " +
           std::to_string(kLayoutVersion) + ": all ranks must use the same version of weft");
  if (header.rank != rank || std::string_view(header.job_id.data()) != job_id)
    refuse("the name of another job");
  if (header.bytes != mapping.bytes() ||
      header.packet_stride < sizeof(PacketHeader) + header.packet_payload ||
      !mapping.contains(header.packets_offset, header.packet_stride * header.packet_count) ||
      header.lanes > kMaxLanes || header.ranks > kMaxLanes / kLanesOfRank ||
      all_lanes(header.lanes, header.ranks) > kMaxLanes ||
      header.device_stride != device_stride(header.lanes, header.ranks) ||
      !mapping.contains(kDevicesOffset, header.devices_max * header.device_stride) ||
      header.regions_offset % alignof(RegionEntry) != 0 ||
      !mapping.contains(header.regions_offset, header.regions_max * sizeof(RegionEntry)))
    refuse("impossible sizes in its header");
}

/// Returns true when the memory of the peer's process can be read, and belongs to the peer: in another
/// namespace the number may be that of another process.
bool probe_read(const Peer& peer, const Address& address) {
  constexpr std::size_t kNames = offsetof(SegmentHeader, bytes);  // rank and job
  std::array<std::byte, kNames> there{};
  const iovec local{there.data(), there.size()};
  const iovec remote{reinterpret_cast<void*>(address.probe), there.size()};
  return ::process_vm_readv(peer.process, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(there.size()) &&
         std::memcmp(there.data(), peer.mapping->base(), there.size()) == 0;
}

}  // namespace

Peers::Peers(bootstrap::Bootstrap& bootstrap, std::shared_ptr<Segment> own,
             std::shared_ptr<AllocatedMemory> memory, std::string_view host_id, OutOfReach out_of_reach,
             const base::Log& log)
    : bootstrap_(bootstrap),
      log_(log),
      host_id_(host_id),
      surroundings_{base::read_boot_id(), base::read_pid_namespace(), base::has_own_proc()},
      out_of_reach_(out_of_reach),
      own_(std::move(own)),
      memory_(std::move(memory)),
      table_(static_cast<std::size_t>(bootstrap.size())),
      departed_(static_cast<std::size_t>(bootstrap.size())),
      reach_(static_cast<std::size_t>(bootstrap.size())),
      owned_(static_cast<std::size_t>(bootstrap.size())),
      next_try_(static_cast<std::size_t>(bootstrap.size())),
      reasons_(static_cast<std::size_t>(bootstrap.size())) {
  Address address{surroundings_.boot_id,
                  surroundings_.pid_namespace,
                  ::getpid(),
                  own_->descriptor(),
                  own_->mapping().bytes(),
                  reinterpret_cast<std::uint64_t>(own_->mapping().base()),
                  identity_of(own_->descriptor()),
                  bootstrap_.lend(kSegmentKey, own_->descriptor()) ? std::uint64_t{1} : 0,
                  {}};
  host_id_.copy(address.host_id.data(), address.host_id.size() - 1);
  bootstrap_.share(kMappingKey,
                   std::const_pointer_cast<Mapping>(std::shared_ptr<const Mapping>(own_, &own_->mapping())));
  bootstrap_.share(kMemoryKey, memory_);
  bootstrap_.put(kAddressKey, std::as_bytes(std::span(&address, 1)));
}

const Peer* Peers::contact_slow(int rank) noexcept {
  const auto index = static_cast<std::size_t>(rank);
  if (reach_[index].load(std::memory_order_relaxed) != Network::Reach::unknown) return nullptr;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return nullptr;
  if (owned_[index] != nullptr) return owned_[index].get();
  if (departed(rank)) return nullptr;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_try_[index]) return nullptr;
  next_try_[index] = now + std::chrono::milliseconds(1);
  try {
    owned_[index] = open(rank);
  } catch (const std::exception& error) {
    if (out_of_reach_ == OutOfReach::ends_job) end_job(error.what());
    set_out_of_reach(rank, Network::Reach::unreachable, error.what());
  }
  if (owned_[index] != nullptr)
    log_.debug([&] {
      const Peer& peer = *owned_[index];
      return "first contact with rank " + std::to_string(rank) + ", process " + std::to_string(peer.process) +
             (peer.same_process ? " (this one)"
              : peer.can_read   ? ", whose memory can be read"
                                : ", whose memory the kernel does not let be read");
    });
  // Pairs with the acquire in contact().
  table_[index].store(owned_[index].get(), std::memory_order_release);
  return owned_[index].get();
}

void Peers::end_job(const char* why) noexcept {
  log_.error(why);
  try {
    bootstrap_.abort(1, why);
  } catch (const std::exception&) {
    // The launcher has ended as well, which ends this process.
  }
  std::_Exit(1);
}

void Peers::set_out_of_reach(int rank, Network::Reach how, std::string why) {
  const auto index = static_cast<std::size_t>(rank);
  reasons_[index] = std::move(why);
  // Pairs with the acquire in reach().
  reach_[index].store(how, std::memory_order_release);
}

std::string Peers::reason_of_reach(int rank) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(rank);
  if (owned_[index] == nullptr) return reasons_[index];
  if (rank == bootstrap_.rank()) return "it is this rank";
  return owned_[index]->same_process ? "it is a rank of this process" : "it is on this host";
}

void Peers::refuse_messages_of(int rank) noexcept {
  const std::lock_guard lock(mutex_);
  end_job(("rank " + std::to_string(rank) +
           " sends to this rank through shared memory, but this rank cannot map its segment: " +
           reasons_[static_cast<std::size_t>(rank)])
              .c_str());
}

bool Peer::has_process_ended() const noexcept {
  const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  if (descriptor < 0) return errno == ESRCH;
  const bool has_ended = base::is_ready(descriptor, POLLIN);
  ::close(descriptor);
  return has_ended;
}

Network::Taker Peers::taker_of(int rank) noexcept {
  using enum Network::Taker;
  // Only threads of this process can move one of its ranks.
  if (rank == bootstrap_.rank()) return nobody;
  const Peer* peer = contact(rank);
  if (peer != nullptr && peer->same_process && base::is_only_thread()) return nobody;
  if (peer != nullptr && peer->closing() != Network::Closing::no) return closing;
  // In other processes failures are reported by the launcher, if there is one that does.
  if (bootstrap_.failures() != nullptr || (peer != nullptr && peer->same_process)) return living;
  return peer == nullptr || peer->has_process_ended() ? nobody : living;
}

void Peers::keep_for_others() noexcept { bootstrap_.keep_shared(kMappingKey); }

void Peers::mark_departed(int rank) noexcept {
  const std::lock_guard lock(mutex_);  // other threads hold it at first contact only
  const auto index = static_cast<std::size_t>(rank);
  // Messages of a rank of this process may lie in its segment after the rank has left.
  if (owned_[index] == nullptr && bootstrap_.shared(rank, kMappingKey) != nullptr) return;
  departed_[index].store(true, std::memory_order_relaxed);
  if (owned_[index] == nullptr) return;
  const Mapping& mapping = *owned_[index]->mapping;
  SegmentHeader& header = mapping.header();
  // Pairs with the acquire in Peer::has_left(). The presence comes first: a thread that finds something else
  // closed then finds this as well.
  header.presence.store(Presence::closed, std::memory_order_release);
  // Only what the rank has used: the rest of both tables shall not take memory.
  const std::uint32_t regions =
      std::min(header.regions_used.load(std::memory_order_relaxed), header.regions_max);
  for (std::uint32_t region = 0; region < regions; ++region)
    mapping.region(region).generation.store(0, std::memory_order_release);
  const std::uint32_t handles = std::min(header.handles_used.load(std::memory_order_relaxed), kHandles);
  for (std::uint32_t id = 0; id < handles; ++id) {
    std::atomic<std::uint32_t>& handle = mapping.open_handles()[id];
    const std::uint32_t closed = detail::closed_handle(static_cast<std::uint16_t>(id));
    if (handle.load(std::memory_order_relaxed) != closed) handle.store(closed, std::memory_order_relaxed);
  }
}

/// Returns why a rank counts as one of another host; an empty text when it is on this one.
std::string Peers::reason_to_be_elsewhere(int rank, const Address& address) const {
  if (bootstrap_.host_of(rank) != bootstrap_.host_of(bootstrap_.rank()))
    return "the launcher has started it on another host";
  const std::string name(address.host_id.data(), ::strnlen(address.host_id.data(), address.host_id.size()));
  const auto shown = [](const std::string& each) { return each.empty() ? "auto" : "\"" + each + "\""; };
  if (name != host_id_) return "its host_id is " + shown(name) + ", that of this rank " + shown(host_id_);
  // A launcher that passes segments on runs on the host of both ranks, whatever they see of the kernel.
  return address.boot_id == surroundings_.boot_id || address.is_lent != 0 ? ""
                                                                          : "it runs under another kernel";
}

std::unique_ptr<Peer> Peers::open(int rank) {
  auto peer = std::make_unique<Peer>();
  peer->rank = rank;
  if (rank == bootstrap_.rank()) {
    peer->process = ::getpid();
    peer->same_process = peer->can_read = true;
    peer->mapping = {own_, &own_->mapping()};
    peer->memory = memory_;
    return peer;
  }
  const auto value = bootstrap_.try_get(rank, kAddressKey);
  if (!value.has_value()) return nullptr;
  Address address{};
  if (value->size() != sizeof address)
    throw Error(ErrorClass::network, "shm: rank " + std::to_string(rank) + " published an address of " +
                                         std::to_string(value->size()) + " bytes, expected " +
                                         std::to_string(sizeof address));
  std::memcpy(&address, value->data(), sizeof address);
  peer->process = address.process;
  if (const std::string why = reason_to_be_elsewhere(rank, address); !why.empty()) {
    if (out_of_reach_ == OutOfReach::ends_job)
      throw Error(ErrorClass::network, "shm: rank " + std::to_string(rank) +
                                           " does not share memory with this rank: " + why +
                                           "; network mixed (WEFT_NETWORK) connects several hosts");
    set_out_of_reach(rank, Network::Reach::remote, why);
    return nullptr;
  }
  if (auto shared = bootstrap_.shared(rank, kMappingKey)) {
    peer->same_process = peer->can_read = true;
    peer->mapping = std::static_pointer_cast<const Mapping>(shared);
    peer->memory = std::static_pointer_cast<const AllocatedMemory>(bootstrap_.shared(rank, kMemoryKey));
    return peer;
  }
  const base::Descriptor file = open_segment(bootstrap_, surroundings_, rank, address, peer->can_open);
  if (!file) {
    departed_[static_cast<std::size_t>(rank)].store(true, std::memory_order_relaxed);
    return nullptr;
  }
  peer->bootstrap = &bootstrap_;
  peer->mapping = std::make_shared<const Mapping>(map_segment(rank, file, address));
  check(rank, *peer->mapping, bootstrap_.job_id());
  peer->watch.emplace(peer->mapping->base(), peer->mapping->bytes(), -1, hidden_from_children);
  peer->can_read = probe_read(*peer, address);
  return peer;
}

}  // namespace weft::network::shm
