// The segments of peers: found through the bootstrap, mapped at first contact.
#pragma once

#include "base/host/host_id.hpp"
#include "base/log.hpp"
#include "bootstrap/bootstrap.hpp"
#include "network/network.hpp"
#include "network/shm/segment/allocated_memory.hpp"
#include "network/shm/segment/segment.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace weft::network::shm {

/// A peer of this rank.
struct Peer {
  int rank = -1;
  std::int32_t process = 0;
  bool same_process = false;
  bool can_read = false;                      // cross-memory attach was tried and works
  bool can_open = false;                      // the files that it holds open can be opened through /proc
  bootstrap::Bootstrap* bootstrap = nullptr;  // lends the peer's files otherwise
  std::shared_ptr<const Mapping> mapping;
  std::shared_ptr<const AllocatedMemory> memory;  // when the peer is a rank of this process
  std::optional<base::SharedMemoryWatch> watch;   // when the segment belongs to another process
  // A packet of this rank was ever sent to the peer; set under the lock of the lane that sends it.
  mutable std::atomic<bool> had_packets{false};

  [[nodiscard]] bool has_left() const noexcept {
    return mapping->header().presence.load(std::memory_order_acquire) == Presence::closed;
  }
  /// Returns true when the peer's runtime is ending: a device that is not open there now never will be.
  [[nodiscard]] bool opens_nothing_more() const noexcept {
    return closing() == Network::Closing::runtime || has_left();
  }
  [[nodiscard]] Network::Closing closing() const noexcept {
    return static_cast<Network::Closing>(mapping->header().closing.load(std::memory_order_relaxed));
  }
  /// Returns true when the peer's process has ended. Makes a system call.
  [[nodiscard]] bool has_process_ended() const noexcept;
};

struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// Address that a rank publishes so that peers find its segment.
struct Address {
  std::uint64_t boot_id;        // of the kernel: equal on one host only
  std::uint64_t pid_namespace;  // of the process number
  std::int32_t process;
  std::int32_t descriptor;
  std::uint64_t bytes;
  std::uint64_t probe;    // address of the segment's header in the process, for probing cross-memory attach
  FileIdentity file;      // of the segment: the process may have opened another file as `descriptor` since
  std::uint64_t is_lent;  // 1: the segment's file is lent under kSegmentKey
  std::array<char, base::kMaximumHostId + 1> host_id;  // of base::host_id_of_rank(), ends with a zero byte
};

/// What this process sees of its host; it does not change.
struct Surroundings {
  std::uint64_t boot_id;
  std::uint64_t pid_namespace;
  bool has_own_proc;
};

/// What happens when a peer turns out to be out of reach.
enum class OutOfReach : std::uint8_t {
  ends_job,  // no other network connects the ranks
  is_told,   // another network does: Peers::reach() tells which peers it is for
};

class Peers {
 public:
  /// `host_id`: see base::host_id_of_rank().
  Peers(bootstrap::Bootstrap& bootstrap, std::shared_ptr<Segment> own,
        std::shared_ptr<AllocatedMemory> memory, std::string_view host_id, OutOfReach out_of_reach,
        const base::Log& log);

  /// Returns the peer, or nullptr while it has not joined yet, when it has departed(), or when reach() says
  /// that it is out of reach. The first successful call maps its segment; calls for ranks that have not
  /// joined ask the bootstrap at most once per millisecond.
  [[nodiscard]] const Peer* contact(int rank) noexcept {
    const Peer* peer = table_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
    return peer != nullptr ? peer : contact_slow(rank);
  }
  /// See Network::reach().
  [[nodiscard]] Network::Reach reach(int rank) noexcept {
    if (contact(rank) != nullptr) return Network::Reach::local;
    // Pairs with the release in set_out_of_reach().
    return reach_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
  }
  /// See Network::reason_of_reach().
  [[nodiscard]] std::string reason_of_reach(int rank);
  /// Ends the job: a rank that this one cannot reach has sent to it through shared memory.
  void refuse_messages_of(int rank) noexcept;
  /// Returns true when the rank left before it was ever contacted.
  [[nodiscard]] bool departed(int rank) const noexcept {
    return departed_[static_cast<std::size_t>(rank)].load(std::memory_order_relaxed);
  }
  /// Notes that the rank has left, or that its process has ended without closing its segment. This rank
  /// closes the segment in its stead, so that its own threads find nothing open, whatever they check before
  /// they post.
  void mark_departed(int rank) noexcept;
  /// Keeps the segment of this rank mapped, so that other ranks of this process find its messages, also ranks
  /// that have not mapped it yet.
  void keep_for_others() noexcept;
  /// Returns true when the rank belongs to this process; false also while it has not joined.
  [[nodiscard]] bool is_of_this_process(int rank) noexcept {
    const Peer* peer = contact(rank);
    return peer != nullptr && peer->same_process;
  }
  [[nodiscard]] Network::Taker taker_of(int rank) noexcept;
  /// Returns the peer when a contact() with it has succeeded, else nullptr.
  [[nodiscard]] const Peer* known(int rank) const noexcept {
    return table_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
  }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(table_.size()); }

 private:
  const Peer* contact_slow(int rank) noexcept;
  std::unique_ptr<Peer> open(int rank);
  [[nodiscard]] std::string reason_to_be_elsewhere(int rank, const Address& address) const;
  void set_out_of_reach(int rank, Network::Reach how, std::string why);
  void end_job(const char* why) noexcept;

  bootstrap::Bootstrap& bootstrap_;
  const base::Log log_;
  const std::string host_id_;
  const Surroundings surroundings_;
  const OutOfReach out_of_reach_;
  std::shared_ptr<Segment> own_;
  std::shared_ptr<AllocatedMemory> memory_;
  std::vector<std::atomic<const Peer*>> table_;  // published with release
  std::vector<std::atomic<bool>> departed_;
  std::vector<std::atomic<Network::Reach>> reach_;  // of peers without an entry in the table; with release
  std::mutex mutex_;                                // guards what follows
  std::vector<std::unique_ptr<Peer>> owned_;
  std::vector<std::chrono::steady_clock::time_point> next_try_;
  std::vector<std::string> reasons_;  // of answers of reach() other than local
};

}  // namespace weft::network::shm
