// The matching engines of a runtime.
#pragma once

#include "core/matching/matching_contexts.hpp"
#include "core/matching/matching_engine.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::core {

/// The engines of a runtime by id. An engine that a message names before it was opened is made at that time,
/// so that no start-up barrier is needed.
class MatchingEngines {
 public:
  static constexpr std::uint32_t kMaxEngines = kMatchingEngines;  // unordered ones
  static constexpr std::uint32_t kAllIds = weft::detail::kStreamEngines + weft::detail::kStreamEngineCount;

  /// `log`: records what happens in all engines; null, or outlives the object.
  explicit MatchingEngines(const MatchingLimits& limits, MatchEventLog* log = nullptr) noexcept
      : limits_(limits), log_(log), contexts_(limits.ranks) {}
  ~MatchingEngines();
  MatchingEngines(const MatchingEngines&) = delete;
  MatchingEngines& operator=(const MatchingEngines&) = delete;

  // Fast paths find an engine by the first four functions, which return nullptr for engines that do not exist
  // yet and for those without a fast path (MatchingSetup).

  /// Returns an unordered engine.
  [[nodiscard]] MatchingEngine* find_made(std::uint32_t id) const noexcept {
    // Pairs with the release in publish().
    return id < kMaxEngines ? fast_paths_[id].load(std::memory_order_acquire) : nullptr;
  }
  /// Returns an ordered engine.
  [[nodiscard]] MatchingEngine* find_ordered(std::uint32_t id) const noexcept {
    return id - kMatchingEngines < kAllIds - kMatchingEngines
               ? fast_paths_[id].load(std::memory_order_acquire)
               : nullptr;
  }
  [[nodiscard]] bool has_fast_path(std::uint32_t id) const noexcept {
    return fast_paths_[id].load(std::memory_order_acquire) != nullptr;
  }
  /// Returns the slot of an engine, to be loaded with acquire; `id` must be in range.
  [[nodiscard]] const std::atomic<MatchingEngine*>& slot(std::uint32_t id) const noexcept {
    return fast_paths_[id];
  }

  /// The contexts that the engines kUnorderedContexts and kOrderedContexts serve.
  [[nodiscard]] MatchingContexts& contexts() noexcept { return contexts_; }

  /// A receive from a source below this number may be posted without a check for failed ranks: all ranks, or
  /// none once one has failed.
  [[nodiscard]] std::uint32_t fast_path_sources() const noexcept {
    return fast_path_sources_.load(std::memory_order_relaxed);
  }
  void set_fast_path_sources(std::uint32_t sources) noexcept {
    fast_path_sources_.store(sources, std::memory_order_relaxed);
  }
  /// Returns the engine; makes it, which allocates, when it does not exist yet. nullptr when the id is out of
  /// range.
  [[nodiscard]] MatchingEngine* find(std::uint32_t id) {
    if (id >= kAllIds) [[unlikely]]
      return nullptr;
    MatchingEngine* engine = find_existing(id);
    return engine != nullptr ? engine : make(id);
  }
  /// Returns the slot of an engine, which is null until it exists, to be loaded with acquire.
  [[nodiscard]] const std::atomic<MatchingEngine*>& slot_of_any(std::uint32_t id) const noexcept {
    return engines_[id];
  }
  /// Returns the engine, or nullptr when it does not exist yet or the id is out of range.
  [[nodiscard]] MatchingEngine* find_existing(std::uint32_t id) const noexcept {
    // Pairs with the release in publish().
    return id < kAllIds ? engines_[id].load(std::memory_order_acquire) : nullptr;
  }
  /// Opens an engine for an object of the user. Throws weft::Error when it is open already, or when its id is
  /// out of range for its order.
  MatchingEngine& open(std::uint32_t id, MatchOrder order, MatchingSetup setup, KeyFunction function,
                       const void* context);
  /// Opens the engine of the stream on a device. Throws weft::Error when it is open already.
  MatchingEngine& open_of_stream(std::uint32_t device, bool serial);
  void close(std::uint32_t id) noexcept;
  /// From now on sends may name the engines of streams of peers, on devices that this rank does not have. Any
  /// thread.
  void allow_streams_of_peers() noexcept { has_groups_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool allows_streams_of_peers() const noexcept {
    return has_groups_.load(std::memory_order_relaxed);
  }
  /// Whether an object of the user has opened the engine. Any thread.
  [[nodiscard]] bool is_open(std::uint32_t id) {
    const std::lock_guard lock(mutex_);
    return open_[id];
  }
  /// Calls each(engine) for the engines in the order in which their ids were first used; cheap, for frequent
  /// calls.
  template <class Each>
  void for_each_used(const Each& each) noexcept {
    const std::uint32_t used = used_.load(std::memory_order_acquire);
    for (std::uint32_t index = 0; index < used; ++index)
      if (MatchingEngine* made = engines_[used_ids_[index]].load(std::memory_order_acquire); made != nullptr)
        each(*made);
  }
  template <class Each>
  void for_each(const Each& each) noexcept {
    for (auto& engine : engines_)
      if (MatchingEngine* made = engine.load(std::memory_order_acquire); made != nullptr) each(*made);
  }
  /// Calls each(engine) for every engine while none is made, opened or closed.
  template <class Each>
  void for_each_made(const Each& each) {
    const std::lock_guard lock(mutex_);
    for_each(each);
  }

 private:
  MatchingEngine& open_any(std::uint32_t id, MatchingSetup setup, KeyFunction function, const void* context);
  MatchingEngine* make(std::uint32_t id);
  void publish(std::uint32_t id, MatchingEngine& engine) noexcept;
  void note_used(std::uint32_t id) noexcept;
  static void move_all(MatchingEngine& from, MatchingEngine& to);

  const MatchingLimits limits_;
  MatchEventLog* const log_;
  MatchingContexts contexts_;
  std::atomic<std::uint32_t> fast_path_sources_{0};
  std::atomic<bool> has_groups_{false};  // of streams
  std::mutex mutex_;                     // making and opening; set-up and first contact only
  std::array<std::atomic<MatchingEngine*>, kAllIds> fast_paths_{};  // of engines that have one
  std::array<std::atomic<MatchingEngine*>, kAllIds> engines_{};
  std::array<bool, kAllIds> open_{};
  std::array<std::uint16_t, kAllIds> used_ids_{};
  std::atomic<std::uint32_t> used_{0};
  std::vector<std::unique_ptr<MatchingEngine>> replaced_;
};

}  // namespace weft::core
