#include "network/session/link/peers.hpp"

#include <weft/error.hpp>

#include "base/clock.hpp"
#include "base/host/host.hpp"
#include "base/uninterrupted.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace weft::network::session {

namespace {

constexpr std::int64_t kAskEvery = 1'000'000;    // nanoseconds
constexpr std::int64_t kLookEvery = 10'000'000;  // nanoseconds

template <std::size_t Size>
std::array<char, Size> to_array(std::string_view text) {
  std::array<char, Size> array{};
  text.copy(array.data(), Size - 1);
  return array;
}

}  // namespace

Peers::Peers(bootstrap::Bootstrap& bootstrap, const NetworkIdentity& identity, std::size_t message_bytes,
             const base::Log& log)
    : bootstrap_(bootstrap),
      log_(log),
      network_(identity.network),
      provider_(identity.provider),
      set_provider_by_(identity.set_provider_by),
      message_bytes_(message_bytes),
      rank_(bootstrap.rank()),
      count_(static_cast<std::size_t>(bootstrap.size())),
      job_id_(bootstrap.job_id()),
      boot_id_(base::read_boot_id()),
      pid_namespace_(base::read_pid_namespace()),
      presence_(std::make_shared<Presence>()),
      peers_(new std::atomic<Peer*>[count_]()) {
  left_unmet_.has_left.store(true, std::memory_order_relaxed);
  bootstrap_.share(presence_key(), presence_);
}

std::string Peers::device_key(std::uint32_t device) const {
  return network_ + ".device." + std::to_string(device);
}

Peers::~Peers() {
  presence_->left.store(true, std::memory_order_release);
  for (std::size_t rank = 0; rank < count_; ++rank) {
    Peer* const peer = peers_[rank].load(std::memory_order_relaxed);
    if (peer == nullptr || peer == &left_unmet_) continue;
    if (peer->process >= 0) ::close(peer->process);
    delete peer;
  }
}

Peer& Peers::meet(int rank) {
  std::atomic<Peer*>& entry = peers_[static_cast<std::size_t>(rank)];
  Peer* known = entry.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  auto fresh = std::make_unique<Peer>();
  // Pairs with the acquires of those that read the entry.
  return entry.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel) ? *fresh.release()
                                                                                      : *known;
}

void Peers::publish(std::uint32_t device, std::span<const std::byte> address) {
  const DeviceRecord record{kMagic,
                            kWireVersion,
                            boot_id_,
                            pid_namespace_,
                            ::getpid(),
                            static_cast<std::uint32_t>(message_bytes_),
                            static_cast<std::uint32_t>(address.size()),
                            0,
                            to_array<64>(provider_)};
  std::vector<std::byte> value(sizeof record + address.size());
  std::memcpy(value.data(), &record, sizeof record);
  std::memcpy(value.data() + sizeof record, address.data(), address.size());
  bootstrap_.put(device_key(device), value);
}

std::optional<std::vector<std::byte>> Peers::find_now_and_then(int rank, std::uint32_t device) noexcept try {
  auto& next = meet(rank).next_question;
  const std::int64_t now = base::now_ns();
  std::int64_t due = next.load(std::memory_order_relaxed);
  if (now < due || !next.compare_exchange_strong(due, now + kAskEvery, std::memory_order_relaxed))
    return std::nullopt;
  return find(rank, device);
} catch (const std::bad_alloc&) {
  return std::nullopt;
}

std::optional<std::vector<std::byte>> Peers::find(int rank, std::uint32_t device) noexcept {
  try {
    return ask(rank, device);
  } catch (const std::exception& error) {
    log_.error(error.what());
    try {
      bootstrap_.abort(1, error.what());
    } catch (const std::exception&) {
      // The launcher has ended as well, which ends this process.
    }
    std::_Exit(1);
  }
}

std::optional<std::vector<std::byte>> Peers::ask(int rank, std::uint32_t device) {
  const auto value = bootstrap_.try_get(rank, device_key(device));
  if (!value.has_value()) return std::nullopt;
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorClass::network, network_ + ": device " + std::to_string(device) + " of rank " +
                                         std::to_string(rank) + " " + what);
  };
  DeviceRecord record{};
  if (value->size() >= sizeof record) std::memcpy(&record, value->data(), sizeof record);
  if (record.magic != kMagic) refuse("published something that is no address");
  if (record.version != kWireVersion)
    refuse("speaks version " + std::to_string(record.version) + ", this build needs " +
           std::to_string(kWireVersion) + ": all ranks must use the same version of weft");
  if (value->size() != sizeof record + record.address_bytes) refuse("published an address that is cut off");
  record.provider.back() = '\0';
  if (provider_ != record.provider.data())
    refuse("uses the provider \"" + std::string(record.provider.data()) + "\", this rank \"" + provider_ +
           "\": set " + set_provider_by_ + " to the same on all ranks");
  if (record.message_bytes != message_bytes_)
    refuse("takes messages of " + std::to_string(record.message_bytes) + " bytes, this rank of " +
           std::to_string(message_bytes_) + ": set packet_size and inline_max to the same on all ranks");
  if (record.boot_id == boot_id_ && record.pid_namespace == pid_namespace_) watch(rank, record.process);
  return std::vector<std::byte>(value->begin() + sizeof record, value->end());
}

void Peers::watch(int rank, std::int32_t process) {
  Peer& peer = meet(rank);
  const std::lock_guard lock(mutex_);
  if (peer.is_watched || rank == rank_ || &peer == &left_unmet_) return;
  if (process == ::getpid()) {
    peer.presence = std::static_pointer_cast<Presence>(bootstrap_.shared(rank, presence_key()));
  } else {
    peer.process = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
    if (peer.process < 0 && errno == ESRCH) mark_left(rank, "");
  }
  peer.is_watched = true;
}

bool Peers::has_ended(const Peer& peer) noexcept {
  if (peer.presence != nullptr) return peer.presence->left.load(std::memory_order_acquire);
  if (peer.process < 0) return false;
  return base::is_ready(peer.process, POLLIN);
}

bool Peers::has_left(int rank) noexcept {
  Peer* const peer = peers_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
  if (peer == nullptr) return false;
  if (peer->has_left.load(std::memory_order_relaxed)) return true;
  const std::int64_t now = base::now_ns();
  if (now < peer->next_look.load(std::memory_order_relaxed)) return false;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  peer->next_look.store(now + kLookEvery, std::memory_order_relaxed);
  if (!has_ended(*peer)) return false;
  peer->has_left.store(true, std::memory_order_relaxed);
  return true;
}

bool Peers::is_in_process(int rank) noexcept { return bootstrap_.shared(rank, presence_key()) != nullptr; }

Network::Taker Peers::taker_of(int rank) noexcept {
  using enum Network::Taker;
  // Only threads of this process can move one of its ranks.
  if (rank == rank_) return nobody;
  const auto presence = std::static_pointer_cast<Presence>(bootstrap_.shared(rank, presence_key()));
  if (presence == nullptr) return living;
  if (base::is_only_thread()) return nobody;
  return presence->closing.load(std::memory_order_relaxed) == Network::Closing::no ? living : closing;
}

void Peers::mark_left(int rank, const std::string& why) noexcept {
  Peer* known = nullptr;
  const bool was_unknown = peers_[static_cast<std::size_t>(rank)].compare_exchange_strong(
      known, &left_unmet_, std::memory_order_acq_rel);
  if ((!was_unknown && known->has_left.exchange(true, std::memory_order_relaxed)) || why.empty()) return;
  log_.warn("the network lost rank " + std::to_string(rank) + ": " + why);
}

}  // namespace weft::network::session
