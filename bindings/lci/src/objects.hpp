// What handles stand for.
#pragma once

#include <lci.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>
#include <weft/collective.hpp>
#include <weft/matching/offline.hpp>
#include <weft/weft.hpp>

#include "payloads.hpp"

namespace lci {

class NetworkEnds;

/// The ranks with which this one has posted operations.
class Peers {
 public:
  explicit Peers(int ranks)
      : ranks_(static_cast<unsigned>(ranks)), are_met_(std::make_unique<std::atomic<bool>[]>(ranks_)) {}
  /// Any number; any thread. Writes only the first time: threads that post share the line.
  [[gnu::always_inline]] inline void note(int rank) const noexcept {
    if (static_cast<unsigned>(rank) < ranks_ && !has_met(rank)) [[unlikely]]
      meet(rank);
  }
  [[nodiscard]] bool has_met(int rank) const noexcept {
    return are_met_[static_cast<unsigned>(rank)].load(std::memory_order_relaxed);
  }
  /// Changes whenever a rank has been noted for the first time.
  [[nodiscard]] std::uint32_t changes() const noexcept { return changes_.load(std::memory_order_acquire); }

 private:
  /// No call, for which posts would have to save registers.
  [[gnu::always_inline]] inline void meet(int rank) const noexcept {
    are_met_[static_cast<unsigned>(rank)].store(true, std::memory_order_relaxed);
    // Pairs with the acquire in changes().
    changes_.fetch_add(1, std::memory_order_release);
  }

  const unsigned ranks_;
  const std::unique_ptr<std::atomic<bool>[]> are_met_;
  mutable std::atomic<std::uint32_t> changes_{0};
};

/// Keeps the ranks that have failed until progress has thrown for them, which it does for those that are
/// peers.
class FailedRanks final : public weft::Completion {
 public:
  ~FailedRanks() override { retire(); }
  void signal(weft::Message& message) noexcept override;
  [[nodiscard]] bool ready() const noexcept override { return any_.load(std::memory_order_acquire); }
  /// Throws peer_failure_error for the first of them that is a peer. Locks nothing when there was none at the
  /// last look, and no rank has become a peer since.
  void throw_next(const Peers& peers);

 private:
  static constexpr std::uint64_t kNeverLooked = ~std::uint64_t{0};
  std::mutex mutex_;
  std::vector<int> ranks_;
  std::atomic<bool> any_{false};
  std::atomic<std::uint64_t> none_at_{kNeverLooked};  // changes of the peers at a look that has found none
};

/// The numbers of remote completions, which are the ids under which weft exposes the objects.
class Rcomps {
 public:
  static constexpr rcomp_t kFirst = 1;
  static constexpr rcomp_t kEnd = weft::collective_ids;

  /// The handle of the number at a peer, which has registered it as often as this rank has, and at least
  /// once. Any thread.
  [[nodiscard, gnu::always_inline]] inline weft::RemoteCompletion handle(rcomp_t rcomp,
                                                                         std::uint8_t device) const {
    if (rcomp - kFirst >= kEnd - kFirst) [[unlikely]]
      refuse_number(rcomp);
    const std::atomic<std::uint16_t>* const again = again_.load(std::memory_order_acquire);
    const std::uint16_t before = again == nullptr ? 0 : again[rcomp].load(std::memory_order_relaxed);
    return {static_cast<std::uint16_t>(rcomp), static_cast<std::uint16_t>(before + 1), device};
  }
  /// Returns true for a number that has been registered once, as all others.
  [[nodiscard, gnu::always_inline]] inline bool is_first(rcomp_t rcomp) const noexcept {
    return rcomp < kEnd && again_.load(std::memory_order_acquire) == nullptr;
  }
  /// Notes the handle that a number of this rank has got. Not in several threads.
  void note(weft::RemoteCompletion handle);
  [[noreturn]] static void refuse_number(rcomp_t rcomp);

 private:
  // By number, how often it was registered before; null until one is registered again.
  std::unique_ptr<std::atomic<std::uint16_t>[]> table_;
  std::atomic<const std::atomic<std::uint16_t>*> again_{nullptr};
};

class packet_pool_impl_t {
 public:
  packet_pool_attr_t attr;
  runtime_impl_t* runtime = nullptr;
};

class net_context_impl_t {
 public:
  net_context_attr_t attr;
};

class endpoint_impl_t {
 public:
  endpoint_impl_t(runtime_impl_t& of_runtime, device_impl_t& of_device, weft::Device& device);
  runtime_impl_t& runtime;
  const Payloads& payloads;  // of the runtime, as are the peers and the numbers
  const Peers& peers;
  const Rcomps& rcomps;
  device_impl_t& owner;
  const std::uint8_t index;  // of the device
  weft::Endpoint endpoint;
  endpoint_attr_t attr;
};

class device_impl_t {
 public:
  explicit device_impl_t(runtime_impl_t& of_runtime);
  /// The device's collectives that threads wait in, made when they are first used.
  weft::Collective& collective();
  /// Those with a completion object: apart, since one thread at a time uses a Collective, and these may be
  /// begun while a thread waits.
  weft::Collective& posted_collective();
  /// The thread that waits in one of them, or null: others wait, since only the order tells collectives
  /// apart.
  std::atomic<const void*> waiting_thread{nullptr};
  /// Held while one is posted, which waits for nothing; its completion object may be a handler that posts
  /// another one.
  std::recursive_mutex posting;

  runtime_impl_t& runtime;
  weft::Device device;
  endpoint_impl_t own_endpoint;
  device_attr_t attr;

 private:
  std::mutex mutex_;
  weft::Collective& made(std::unique_ptr<weft::Collective>& collective, std::uint32_t first_key);
  std::unique_ptr<weft::Collective> collective_;
  std::unique_ptr<weft::Collective> posted_collective_;
};

class matching_engine_impl_t {
 public:
  matching_engine_attr_t attr;
  runtime_impl_t* runtime = nullptr;
  std::uint16_t id = 0;
  std::optional<weft::MatchingEngine> engine;  // none: the runtime's default engine
  /// The engine behind matching_engine_insert(), made when it is first used.
  weft::OfflineMatchingEngine& table();

 private:
  std::once_flag once_;
  std::optional<weft::OfflineMatchingEngine> table_;
};

class mr_impl_t {
 public:
  mr_attr_t attr;
  const runtime_impl_t* runtime = nullptr;
  weft::MemoryRegion region;
};

class runtime_impl_t {
 public:
  explicit runtime_impl_t(const arguments::alloc_runtime_argument<alloc_runtime_x>& given);
  ~runtime_impl_t();

  weft::Runtime runtime;
  Payloads& payloads;
  runtime_attr_t attr;
  const Peers peers;
  FailedRanks failed;
  std::unique_ptr<NetworkEnds> network_ends;

  net_context_impl_t net_context;
  packet_pool_impl_t pool;
  matching_engine_impl_t engine;
  std::unique_ptr<device_impl_t> device;
  endpoint_impl_t* endpoint = nullptr;  // the default one, or null

  Rcomps rcomps;

  std::mutex mutex;
  std::uint32_t next_rcomp = Rcomps::kFirst;
  std::set<std::uint16_t> engine_ids;
};

inline endpoint_impl_t::endpoint_impl_t(runtime_impl_t& of_runtime, device_impl_t& of_device,
                                        weft::Device& device)
    : runtime(of_runtime),
      payloads(of_runtime.payloads),
      peers(of_runtime.peers),
      rcomps(of_runtime.rcomps),
      owner(of_device),
      index(static_cast<std::uint8_t>(device.index())),
      endpoint(device) {}

/// The runtime that operations use which are given none, and its default endpoint; null: there is none.
extern runtime_impl_t* g_runtime;
extern endpoint_impl_t* g_endpoint;

/// get_g_default_attr() with 0 for what nobody has asked for.
[[nodiscard]] global_attr_t requested_attributes();
/// Those of completion objects alone: programs allocate one for each operation.
[[nodiscard]] comp_attr_t requested_comp_attributes();

[[noreturn]] void refuse(const std::string& what);

[[nodiscard]] inline runtime_impl_t& runtime_of(const runtime_t& given) {
  if (given.p_impl != nullptr) return *given.p_impl;
  if (g_runtime == nullptr) [[unlikely]]
    refuse("there is no runtime: call g_runtime_init() first, or name one with .runtime()");
  return *g_runtime;
}
[[nodiscard]] inline endpoint_impl_t& default_endpoint(runtime_impl_t& runtime) {
  if (runtime.endpoint == nullptr) [[unlikely]]
    refuse("the runtime has no default device: name one with .device(), or allocate the runtime with it");
  return *runtime.endpoint;
}
template <class Operation>
[[nodiscard]] endpoint_impl_t& endpoint_of(const Operation& operation) {
  if (operation.m_endpoint.p_impl != nullptr) return *operation.m_endpoint.p_impl;
  if (operation.m_device.p_impl != nullptr) return operation.m_device.p_impl->own_endpoint;
  return default_endpoint(runtime_of(operation.m_runtime));
}

/// The endpoint of a post, which notes its peer.
template <class Post>
[[nodiscard]] endpoint_impl_t& endpoint_of_post(const Post& post) {
  endpoint_impl_t& lci_endpoint = endpoint_of(post);
  lci_endpoint.peers.note(post.m_rank);
  return lci_endpoint;
}

}  // namespace lci
