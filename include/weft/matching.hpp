// Matching engines, and messages that a probe has taken out of them.
#pragma once

#include <weft/attributes.hpp>
#include <weft/detail/export.hpp>
#include <weft/matching/counters.hpp>
#include <weft/options.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace weft {

class MatchingAlgorithm;
class Runtime;

namespace core {
class MatchingEngine;
struct MatchRecord;
}  // namespace core
namespace detail {
class DeviceState;
class RuntimeState;
template <class Locking>
struct MatchedCalls;
}  // namespace detail

/// Options of a MatchingEngine.
struct MatchingEngineOptions {
  /// Explicit id within the runtime, 0 to 253 or 255, for an ordered engine 256 to 511. Sends and receives
  /// that name it match only each other, so every rank must use the same id for the same purpose. 0 is the
  /// default engine, which exists without being opened. 254 serves matching contexts.
  EngineId id = 0;
  /// Ordered engines match by rank and tag only (MatchingPolicy::rank_and_tag), with the wildcards any_source
  /// and any_tag. Order is optional because few programs need it and all would pay for it: with wildcards,
  /// waiting messages have to be searched in sequence (W. Schonbein et al., "Measuring Multithreaded Message
  /// Matching Misery", Euro-Par 2018), and threads that share an ordered engine take turns in it, while
  /// threads in an unordered engine only contend under the same key.
  MatchOrder order = MatchOrder::unordered;
  /// true: only one thread at a time posts receives to this engine and progresses the devices on which its
  /// messages arrive. The engine then executes no locked instruction.
  bool serial = false;
  /// For MatchingPolicy::user: the key of a rank and a tag; equal keys match. The function must be pure, and
  /// the same on all ranks: the sender computes the key for its own rank, the receiver for the source of its
  /// receive.
  std::uint64_t (*make_key)(int rank, std::uint64_t tag, const void* context) noexcept = nullptr;
  const void* context = nullptr;
  /// true: for operations in which all ranks take part. Once any rank has failed, receives from any source
  /// that have not matched a message end as peer_failed, now and later, and so do sends that no rank has
  /// begun to receive: otherwise a rank could wait for ever for another one that has given up.
  bool needs_all_ranks = false;
  /// Matches in place of weft's own table (weft/matching/algorithm.hpp); for ordered engines. The engine
  /// keeps it alive, also when it is closed, and one algorithm serves one engine.
  std::shared_ptr<MatchingAlgorithm> algorithm = nullptr;
  /// true: searches are counted and timed, for counters().
  ///
  /// With an algorithm or counters the engine locks even if it is `serial`, and its posts and messages take
  /// slow paths; other engines are not concerned. No other thread may send to or receive from the engine in
  /// this process, or progress a device on which its messages arrive, while it is opened.
  bool counters = false;
};

/// Matches sends with receives, separately from all other engines. Sends and receives name it by its id, so
/// that one object may serve many endpoints. Opening is not collective: messages that arrive before are kept,
/// within the credits of their senders.
///
/// The destructor cancels the receives that are posted (their completion objects are signalled with
/// Outcome::cancelled) and drops the messages that have not been received. No post may name the engine
/// meanwhile.
class WEFT_API MatchingEngine {
 public:
  /// Throws weft::Error when the id is out of range or open already.
  MatchingEngine(Runtime& runtime, const MatchingEngineOptions& options);
  ~MatchingEngine();
  MatchingEngine(const MatchingEngine&) = delete;
  MatchingEngine& operator=(const MatchingEngine&) = delete;

  [[nodiscard]] std::uint16_t id() const noexcept { return id_; }
  /// So that options take the engine itself: `{.engine = engine}`.
  operator EngineId() const noexcept { return id_; }  // NOLINT: is meant to convert
  [[nodiscard]] MatchingEngineAttributes attributes() const noexcept;
  /// What has been counted since the engine was opened; all zeros without MatchingEngineOptions::counters.
  /// Any thread.
  [[nodiscard]] MatchingCounters counters() const noexcept;

 private:
  detail::RuntimeState& runtime_;
  const std::uint16_t id_;
};

/// A message that a matched probe has taken out of its engine: only post_receive(MatchedMessage&&, ...) can
/// receive it. If the object is destroyed before that, the message is dropped. Must not outlive the endpoint
/// that made it.
class WEFT_API MatchedMessage {
 public:
  MatchedMessage() noexcept = default;
  MatchedMessage(MatchedMessage&& other) noexcept { *this = static_cast<MatchedMessage&&>(other); }
  MatchedMessage& operator=(MatchedMessage&& other) noexcept;
  ~MatchedMessage() { drop(); }

  /// False when the probe has found no message.
  [[nodiscard]] explicit operator bool() const noexcept { return record_ != nullptr; }
  [[nodiscard]] const ProbedMessage& info() const noexcept { return info_; }

 private:
  template <class Locking>
  friend struct detail::MatchedCalls;
  void drop() noexcept;

  detail::DeviceState* device_ = nullptr;
  core::MatchingEngine* engine_ = nullptr;
  core::MatchRecord* record_ = nullptr;
  ProbedMessage info_;
};

}  // namespace weft
