// The peers of a rank: where their devices are, what is known of their handles, whether they are still there.
#pragma once

#include "base/log.hpp"
#include "bootstrap/bootstrap.hpp"
#include "network/ofi/handle_board.hpp"

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

namespace weft::network::ofi {

struct Peer {
  int rank = -1;
  KnownHandles handles;
  std::atomic<bool> gone{false};
};

class Peers {
 public:
  /// `message_bytes`: the longest message that ranks send each other.
  Peers(bootstrap::Bootstrap& bootstrap, std::string_view provider, std::size_t message_bytes,
        const base::Log& log);
  /// Ranks of this process learn that this one has left.
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// Tells the job where a device of this rank is; once per index.
  void publish(std::uint32_t device, std::span<const std::byte> address);
  /// Where a peer's device is, or nothing while it is not open. An address that cannot be used ends the job.
  [[nodiscard]] std::optional<std::vector<std::byte>> find(int rank, std::uint32_t device) noexcept;
  /// The same, asking the bootstrap at most once per peer and millisecond.
  [[nodiscard]] std::optional<std::vector<std::byte>> find_now_and_then(int rank,
                                                                        std::uint32_t device) noexcept;

  /// Keeps something until no rank of this process can reach for it any more.
  void keep_for_others(std::shared_ptr<void> object) noexcept { presence_->kept = std::move(object); }

  [[nodiscard]] Peer& peer(int rank) noexcept { return peers_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(count_); }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] std::string_view job_id() const noexcept { return job_id_; }

  /// Whether the peer has left the job. Looks at its process now and then.
  [[nodiscard]] bool gone(int rank) noexcept;
  /// The network lost a message to the peer, or the peer said goodbye (`why` is empty).
  void mark_gone(int rank, const std::string& why) noexcept;

 private:
  /// Shared by the ranks of one process.
  struct Presence {
    std::atomic<bool> left{false};
    std::shared_ptr<void> kept;
  };
  struct Watch {
    std::shared_ptr<Presence> presence;  // of a rank of this process
    int process = -1;                    // descriptor of another process
    bool is_set = false;
    std::atomic<std::int64_t> next_question{0};
    std::atomic<std::int64_t> next_look{0};
  };

  std::optional<std::vector<std::byte>> ask(int rank, std::uint32_t device);
  void watch(int rank, std::int32_t process);
  [[nodiscard]] bool has_ended(const Watch& watch) const noexcept;

  bootstrap::Bootstrap& bootstrap_;
  const base::Log log_;
  const std::string provider_;
  const std::size_t message_bytes_;
  const int rank_;
  const std::size_t count_;
  const std::string job_id_;
  const std::shared_ptr<Presence> presence_;
  const std::unique_ptr<Peer[]> peers_;
  std::mutex mutex_;  // only tried; guards what a watch is
  const std::unique_ptr<Watch[]> watches_;
};

}  // namespace weft::network::ofi
