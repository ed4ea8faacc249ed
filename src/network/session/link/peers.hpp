// The peers of a rank: the addresses of their devices, the state of their handles, and whether they have
// left.
#pragma once

#include "base/log.hpp"
#include "bootstrap/bootstrap.hpp"
#include "network/network.hpp"
#include "network/session/link/handle_board.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::network::session {

/// State of a rank that the ranks of one process share.
struct Presence {
  std::atomic<bool> left{false};
  std::atomic<Network::Closing> closing{Network::Closing::no};
};

/// What is known of a rank that was ever looked for.
struct Peer {
  KnownHandles handles;
  std::atomic<bool> has_left{false};
  // Whether its process has ended, as far as this rank can see:
  std::atomic<std::int64_t> next_question{0};
  std::atomic<std::int64_t> next_look{0};
  std::shared_ptr<Presence> presence;  // of a rank of this process
  int process = -1;                    // descriptor of another process
  bool is_watched = false;
};

/// What ranks must agree on to reach each other.
struct NetworkIdentity {
  const char* network;          // name of the network; begins its keys in the bootstrap, and its messages
  std::string_view provider;    // what carries the bytes
  const char* set_provider_by;  // attribute and variable
};

class Peers {
 public:
  /// `message_bytes`: the longest message that ranks send each other.
  Peers(bootstrap::Bootstrap& bootstrap, const NetworkIdentity& identity, std::size_t message_bytes,
        const base::Log& log);
  /// Tells the ranks of this process that this one has left.
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// Publishes the address of a device of this rank; once per index.
  void publish(std::uint32_t device, std::span<const std::byte> address);
  /// Returns the address of a peer's device, or nothing while it is not open. An address that cannot be used
  /// ends the job.
  [[nodiscard]] std::optional<std::vector<std::byte>> find(int rank, std::uint32_t device) noexcept;
  /// Finds the address of a peer's device, asking the bootstrap at most once per peer and millisecond; see
  /// find().
  [[nodiscard]] std::optional<std::vector<std::byte>> find_now_and_then(int rank,
                                                                        std::uint32_t device) noexcept;

  /// What is known of the rank, from now on if nothing was; for the life of this object. Throws
  /// std::bad_alloc.
  [[nodiscard]] Peer& meet(int rank);
  /// Returns true when the rank is known to have left; does not look.
  [[nodiscard]] bool is_known_to_have_left(int rank) const noexcept {
    const Peer* const peer = peers_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
    return peer != nullptr && peer->has_left.load(std::memory_order_relaxed);
  }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(count_); }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] std::string_view job_id() const noexcept { return job_id_; }

  /// Returns true when the peer has left the job. Checks its process now and then.
  [[nodiscard]] bool has_left(int rank) noexcept;
  /// Returns true when the rank is another process whose end has_left() notices.
  [[nodiscard]] bool is_watched_process(int rank) noexcept {
    const Peer* const peer = peers_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
    const std::lock_guard lock(mutex_);
    return peer != nullptr && peer->process >= 0;
  }
  /// Publishes the progress of this rank's shutdown to ranks of this process; ranks of other processes only
  /// notice its end.
  void publish_closing(Network::Closing how) noexcept {
    presence_->closing.store(how, std::memory_order_relaxed);
  }
  /// See Network::taker_of().
  /// Returns true when the rank lives in this process.
  [[nodiscard]] bool is_in_process(int rank) noexcept;
  [[nodiscard]] Network::Taker taker_of(int rank) noexcept;
  /// Notes that the network lost a message to the peer, or that the peer said goodbye (`why` is empty).
  void mark_left(int rank, const std::string& why) noexcept;

 private:
  [[nodiscard]] std::string device_key(std::uint32_t device) const;
  [[nodiscard]] std::string presence_key() const { return network_ + ".presence"; }
  std::optional<std::vector<std::byte>> ask(int rank, std::uint32_t device);
  void watch(int rank, std::int32_t process);
  [[nodiscard]] static bool has_ended(const Peer& peer) noexcept;

  bootstrap::Bootstrap& bootstrap_;
  const base::Log log_;
  const std::string network_;
  const std::string provider_;
  const std::string set_provider_by_;
  const std::size_t message_bytes_;
  const int rank_;
  const std::size_t count_;
  const std::string job_id_;
  const std::uint64_t boot_id_;  // of this host, as pid_namespace_: compared with those of each peer
  const std::uint64_t pid_namespace_;
  const std::shared_ptr<Presence> presence_;
  Peer left_unmet_;  // of all ranks that have left before this one knew of them
  const std::unique_ptr<std::atomic<Peer*>[]> peers_;  // by rank; null: never looked for
  std::mutex mutex_;                                   // guards what tells of processes
};

}  // namespace weft::network::session
