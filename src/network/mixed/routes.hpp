// By which network a rank reaches each peer.
#pragma once

#include "base/log.hpp"
#include "network/network.hpp"

#include <atomic>
#include <cstdint>
#include <vector>

namespace weft::network::mixed {

enum class Route : std::uint8_t {
  unknown,  // the peer has not joined yet, or has left before it was contacted
  local,
  remote,
};

/// Chooses the local network for a peer that it reaches, and the remote one for all others: once, at first
/// contact, for the life of the runtime. Any thread.
class Routes {
 public:
  /// Both networks must outlive this object.
  Routes(int ranks, Network& local, const Network& remote, const base::Log& log);

  [[nodiscard]] Route of(int peer) noexcept {
    // Pairs with the release in choose().
    const Route route = table_[static_cast<std::size_t>(peer)].load(std::memory_order_acquire);
    return route != Route::unknown ? route : choose(peer);
  }
  [[nodiscard]] bool is_remote(int peer) noexcept { return of(peer) == Route::remote; }

  /// Returns false once all ranks are known to be local: the remote network carries nothing then.
  [[nodiscard]] bool needs_remote() const noexcept {
    return local_ranks_.load(std::memory_order_relaxed) != table_.size();
  }
  /// Returns true once all ranks but one, this one, are known to be remote.
  [[nodiscard]] bool are_all_remote() const noexcept {
    return remote_ranks_.load(std::memory_order_relaxed) + 1 == table_.size();
  }

 private:
  Route choose(int peer) noexcept;

  Network& local_;
  const Network& remote_;
  const base::Log log_;
  std::vector<std::atomic<Route>> table_;
  std::atomic<std::size_t> local_ranks_{0};
  std::atomic<std::size_t> remote_ranks_{0};
};

}  // namespace weft::network::mixed
