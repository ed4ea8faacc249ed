// Matching engines, and messages that a probe has taken out of them.
#pragma once

#include <weft/attributes.hpp>
#include <weft/detail/export.hpp>
#include <weft/options.hpp>

#include <cstddef>
#include <cstdint>

namespace weft {

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
  /// Explicit name within the runtime, 0 to 255, of an ordered engine 256 to 511; sends and receives that
  /// name it meet only each other, so every rank uses the same id for the same purpose. 0 is the default
  /// engine, which exists without being opened.
  std::uint16_t id = 0;
  /// Ordered engines match by rank and tag only (MatchingPolicy::rank_and_tag), with the wildcards any_source
  /// and any_tag. Order is a choice because few programs need it and all would pay: messages that wait have
  /// to be looked through in sequence once there are wildcards (W. Schonbein et al., "Measuring Multithreaded
  /// Message Matching Misery", Euro-Par 2018), and threads that share such an engine take turns in it, while
  /// those in an unordered one only meet under the same key.
  MatchOrder order = MatchOrder::unordered;
  /// true: only one thread at a time posts receives to this engine and progresses the devices on which its
  /// messages arrive. No locked instruction is executed for it then.
  bool serial = false;
  /// For MatchingPolicy::user: the key of a rank and a tag; equal keys match. Pure, and the same on all
  /// ranks: the sender computes it for itself, the receiver for the source of its receive.
  std::uint64_t (*make_key)(int rank, std::uint64_t tag, const void* context) noexcept = nullptr;
  const void* context = nullptr;
  /// true: for operations in which all ranks take part. Once any rank has failed, receives from whomever
  /// that have not met a message end as peer_failed, now and later, and so do sends that nobody has begun to
  /// receive: a rank that waits for another one which has given up would wait for ever.
  bool needs_all_ranks = false;
};

/// Pairs sends with receives, apart from all other engines. Sends and receives name it by its id, so that one
/// object may serve many endpoints. Opening is not collective: messages that come before are kept within the
/// credits of their senders.
///
/// The destructor cancels the receives that are posted (their completion objects are signalled with
/// Outcome::cancelled) and drops the messages that nobody has received. No post names the engine meanwhile.
class WEFT_API MatchingEngine {
 public:
  /// Throws weft::Error when the id is out of range or open already.
  MatchingEngine(Runtime& runtime, const MatchingEngineOptions& options);
  ~MatchingEngine();
  MatchingEngine(const MatchingEngine&) = delete;
  MatchingEngine& operator=(const MatchingEngine&) = delete;

  [[nodiscard]] std::uint16_t id() const noexcept { return id_; }
  [[nodiscard]] MatchingEngineAttributes attributes() const noexcept;

 private:
  detail::RuntimeState& runtime_;
  const std::uint16_t id_;
};

/// A message that has been taken out of its engine by a matched probe: only post_receive(ArrivedMessage&&,
/// ...) can receive it. Destroyed without that, it is dropped. Must not outlive the endpoint that took it.
class WEFT_API ArrivedMessage {
 public:
  ArrivedMessage() noexcept = default;
  ArrivedMessage(ArrivedMessage&& other) noexcept { *this = static_cast<ArrivedMessage&&>(other); }
  ArrivedMessage& operator=(ArrivedMessage&& other) noexcept;
  ~ArrivedMessage() { drop(); }

  /// False: there was none.
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
