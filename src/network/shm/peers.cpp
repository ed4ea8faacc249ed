#include "network/shm/peers.hpp"

#include <weft/error.hpp>

#include "base/host.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace weft::network::shm {

namespace {

constexpr const char* kAddressKey = "shm.address";
constexpr const char* kMappingKey = "shm.segment";
constexpr const char* kMemoryKey = "shm.memory";

/// The mapping, or none when the process has ended.
std::optional<Mapping> map_segment(int rank, const Address& address) {
  const std::string path =
      "/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.descriptor);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0 && (errno == ENOENT || errno == ESRCH)) return std::nullopt;
  if (descriptor < 0)
    throw Error("shm: cannot open the segment of rank " + std::to_string(rank) + " at " + path + ": " +
                std::strerror(errno) + "; ranks must run as the same user and see the same /proc");
  void* base =
      ::mmap(nullptr, address.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  const int error = errno;
  ::close(descriptor);
  if (base == MAP_FAILED)
    throw Error("shm: cannot map the segment of rank " + std::to_string(rank) + " (" +
                std::to_string(address.bytes) + " bytes): " + std::strerror(error));
  return Mapping(static_cast<std::byte*>(base), address.bytes);
}

void check(int rank, const Mapping& mapping, std::string_view job_id) {
  const SegmentHeader& header = mapping.header();
  const auto refuse = [&](const std::string& what) {
    throw Error("shm: the segment of rank " + std::to_string(rank) + " has " + what);
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
      !mapping.contains(kDevicesOffset, header.devices_max * sizeof(DeviceArea)) ||
      header.regions_offset % alignof(RegionEntry) != 0 ||
      !mapping.contains(header.regions_offset, header.regions_max * sizeof(RegionEntry)))
    refuse("impossible sizes in its header");
}

bool probe_read(const Peer& peer, const Address& address) {
  std::uint64_t magic = 0;
  const iovec local{&magic, sizeof magic};
  const iovec remote{reinterpret_cast<void*>(address.probe), sizeof magic};
  return ::process_vm_readv(peer.process, &local, 1, &remote, 1, 0) == sizeof magic && magic == kMagic;
}

}  // namespace

Peers::Peers(bootstrap::Bootstrap& bootstrap, std::shared_ptr<Segment> own,
             std::shared_ptr<AllocatedMemory> memory, const base::Log& log)
    : bootstrap_(bootstrap),
      log_(log),
      own_(std::move(own)),
      memory_(std::move(memory)),
      table_(static_cast<std::size_t>(bootstrap.size())),
      departed_(static_cast<std::size_t>(bootstrap.size())),
      owned_(static_cast<std::size_t>(bootstrap.size())),
      next_try_(static_cast<std::size_t>(bootstrap.size())) {
  const Address address{base::read_boot_id(),
                        base::read_pid_namespace(),
                        ::getpid(),
                        own_->descriptor(),
                        own_->mapping().bytes(),
                        reinterpret_cast<std::uint64_t>(own_->mapping().base())};
  bootstrap_.share(kMappingKey,
                   std::const_pointer_cast<Mapping>(std::shared_ptr<const Mapping>(own_, &own_->mapping())));
  bootstrap_.share(kMemoryKey, memory_);
  bootstrap_.put(kAddressKey, std::as_bytes(std::span(&address, 1)));
}

const Peer* Peers::contact_slow(int rank) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return nullptr;
  const auto index = static_cast<std::size_t>(rank);
  if (owned_[index] != nullptr) return owned_[index].get();
  if (departed(rank)) return nullptr;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_try_[index]) return nullptr;
  next_try_[index] = now + std::chrono::milliseconds(1);
  try {
    owned_[index] = open(rank);
  } catch (const std::exception& error) {
    log_.error(error.what());
    try {
      bootstrap_.abort(1, error.what());
    } catch (const std::exception&) {
      // The launcher is gone as well: it ends this process.
    }
    std::_Exit(1);
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

void Peers::mark_failed(int rank) noexcept {
  const std::lock_guard lock(mutex_);  // held by others at first contact only
  const auto index = static_cast<std::size_t>(rank);
  departed_[index].store(true, std::memory_order_relaxed);
  if (owned_[index] == nullptr) return;
  const Mapping& mapping = *owned_[index]->mapping;
  SegmentHeader& header = mapping.header();
  // Pairs with the acquire in Peer::gone(). First: whoever finds something else closed then finds this as
  // well.
  header.presence.store(Presence::closed, std::memory_order_release);
  for (std::uint32_t region = 0; region < header.regions_max; ++region)
    mapping.region(region).generation.store(0, std::memory_order_release);
  for (std::uint32_t id = 0; id < kHandles; ++id) {
    std::atomic<std::uint32_t>& handle = mapping.open_handles()[id];
    const std::uint32_t closed = detail::closed_handle(static_cast<std::uint16_t>(id));
    if (handle.load(std::memory_order_relaxed) != closed) handle.store(closed, std::memory_order_relaxed);
  }
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
    throw Error("shm: rank " + std::to_string(rank) + " published an address of " +
                std::to_string(value->size()) + " bytes, expected " + std::to_string(sizeof address));
  std::memcpy(&address, value->data(), sizeof address);
  peer->process = address.process;
  if (auto shared = bootstrap_.shared(rank, kMappingKey)) {
    peer->same_process = peer->can_read = true;
    peer->mapping = std::static_pointer_cast<const Mapping>(shared);
    peer->memory = std::static_pointer_cast<const AllocatedMemory>(bootstrap_.shared(rank, kMemoryKey));
    return peer;
  }
  if (address.boot_id != base::read_boot_id() || address.pid_namespace != base::read_pid_namespace())
    throw Error(
        "shm: rank " + std::to_string(rank) +
        " runs on another host or in another process namespace; this build connects ranks of one host");
  std::optional<Mapping> mapping = map_segment(rank, address);
  if (!mapping.has_value()) {
    departed_[static_cast<std::size_t>(rank)].store(true, std::memory_order_relaxed);
    return nullptr;
  }
  peer->mapping = std::make_shared<const Mapping>(std::move(*mapping));
  check(rank, *peer->mapping, bootstrap_.job_id());
  peer->can_read = probe_read(*peer, address);
  return peer;
}

}  // namespace weft::network::shm
