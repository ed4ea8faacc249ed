// Sends and receives of ordered engines: checks, refusals and the backlog.
#include "core/deadline/timed_posts.hpp"
#include "core/protocol/enqueue.hpp"
#include "core/protocol/post_checks.hpp"
#include "core/protocol/submit.hpp"
#include "core/runtime/device_state.hpp"
#include "core/runtime/runtime_state.hpp"

#include <weft/error.hpp>

#include <string>

namespace weft::detail {

core::MatchingEngine& DeviceState::check_ordered(std::uint32_t id, MatchingPolicy policy,
                                                 const char* operation) {
  core::MatchingEngine& engine = check_engine(id, MatchingPolicy::rank_and_tag, operation);
  if (policy != MatchingPolicy::rank_and_tag) [[unlikely]]
    throw Error(std::string(operation) + ": matching engine " + std::to_string(id) +
                " is ordered and matches by MatchingPolicy::rank_and_tag only; receives may name any_source "
                "and any_tag");
  return engine;
}

core::MatchingEngine& DeviceState::check_ordered_receive(int source, const ReceiveOptions& options,
                                                         const char* operation) {
  core::MatchingEngine& engine = check_ordered(options.engine, options.policy, operation);
  if (source != any_source || runtime_.reachable() == 0) check_source(source, options.policy, operation);
  return engine;
}

/// Stores the stream of the engine in the lane, so that the endpoint writes the next short sends itself.
void DeviceState::remember_stream(int peer, const SendOptions& options, bool exclusive) noexcept {
  core::MatchingEngine* engine = runtime_.matching_engines().find_ordered(options.engine);
  SendLane* lane = path_.lane(peer, options.device);
  if (engine == nullptr || lane == nullptr) return;
  auto* const hold = enter(lane->bias, lane->lock, exclusive);
  if (hold == nullptr) return;
  lane->stream = &engine->order()->sends(peer, static_cast<std::uint8_t>(index_));
  lane->ordered_engine = options.engine;
  leave(hold, exclusive);
}

Status DeviceState::post_ordered_send(int peer, std::uint64_t tag, Bytes bytes, const SendOptions& options,
                                      bool exclusive) {
  const Status status = post_ordered_send_slow(peer, tag, {bytes}, nullptr, options, exclusive);
  if (status.is_accepted()) remember_stream(peer, options, exclusive);
  return status;
}

Status DeviceState::post_ordered_send_slow(int peer, std::uint64_t tag, const core::SendPayload& payload,
                                           Packet* packet, const SendOptions& options, bool exclusive) {
  core::check_peer(peer, context_, "post_send");
  core::check_class(options.message_class, "post_send");
  core::MatchingEngine& engine = check_ordered(options.engine, options.policy, "post_send");
  if (tag == any_tag) [[unlikely]]
    throw Error("post_send: tag " + std::to_string(tag) +
                " is any_tag, which no message to an ordered matching engine can have");
  if (options.timeout.count() != 0) [[unlikely]]
    return timed_posts_.post("post_send", core::unposted_send(peer, tag, payload, packet), options,
                             [&](const SendOptions& within) {
                               return post_ordered_send_slow(peer, tag, payload, packet, within, exclusive);
                             });
  return core::submit(
      posts_,
      {Operation::send, peer, tag, payload.size(), backlog_.waits_for_room(peer, options.message_class),
       options.may_retry},
      [&] {
        const Status status = send_receive_.attempt_ordered_send(engine, peer, tag, payload, options, packet,
                                                                 !backlog_.empty(), exclusive, false);
        if (packet != nullptr && !status.is_retry()) packet->reset();
        return status;
      },
      [&](Status refused) { return keep_send(refused, peer, tag, payload, packet, options); });
}

template <class Locking, class... UserData>
bool DeviceState::try_post_ordered_receive(std::uint64_t engine_and_source, std::uint64_t tag,
                                           std::byte* data, std::size_t size, Completion* completion,
                                           UserData... user_data) noexcept {
  RuntimeState& runtime = runtime_;  // read once
  core::MatchingEngine* const engine =
      runtime.matching_engines().find_ordered(static_cast<std::uint16_t>(engine_and_source >> 32));
  const auto source = static_cast<std::uint32_t>(engine_and_source);
  if (engine == nullptr || source >= runtime.fast_path_sources() ||
      engine->order()->queued_receives().load(std::memory_order_relaxed) != 0) [[unlikely]]
    return false;
  if (!engine->expects_receives(Locking::kExclusive)) [[unlikely]]
    return try_receive_ordered<Locking>(engine_and_source, tag, data, size, completion, user_data...);
  return engine->try_post_in_order<Locking>({tag, source, 0}, {data, size}, completion, user_data...);
}
/// Slow path where messages arrive before their receives, or the endpoint does not lock as the engine does.
template <class Locking, class... UserData>
[[gnu::noinline]] bool DeviceState::try_receive_ordered(std::uint64_t engine_and_source, std::uint64_t tag,
                                                        std::byte* data, std::size_t size,
                                                        Completion* completion,
                                                        UserData... user_data) noexcept {
  core::MatchingEngine& engine =
      *runtime_.matching_engines().find_ordered(static_cast<std::uint16_t>(engine_and_source >> 32));
  if (engine.is_serial() != Locking::kExclusive) return false;
  const auto source = static_cast<std::uint32_t>(engine_and_source);
  void* given = nullptr;
  ((given = user_data), ...);
  if (engine.expects_unexpected() && (engine_and_source & kMayCompleteNow) == 0 &&
      send_receive_.try_receive_unexpected<Locking>(engine, tag, source, {data, size}, completion, given))
      [[likely]]
    return true;
  const bool is_posted = engine.try_post_in_order<Locking>({tag, source, 0}, {data, size}, completion, given);
  if (is_posted) engine.learn_unexpected(false);
  return is_posted;
}
template bool DeviceState::try_post_ordered_receive<TryLock>(std::uint64_t, std::uint64_t, std::byte*,
                                                             std::size_t, Completion*) noexcept;
template bool DeviceState::try_post_ordered_receive<NoLock>(std::uint64_t, std::uint64_t, std::byte*,
                                                            std::size_t, Completion*) noexcept;
template bool DeviceState::try_post_ordered_receive<TryLock>(std::uint64_t, std::uint64_t, std::byte*,
                                                             std::size_t, Completion*, void*) noexcept;
template bool DeviceState::try_post_ordered_receive<NoLock>(std::uint64_t, std::uint64_t, std::byte*,
                                                            std::size_t, Completion*, void*) noexcept;

Status DeviceState::post_ordered_receive(int source, std::uint64_t tag, std::span<std::byte> buffer,
                                         const ReceiveOptions& options) {
  core::MatchingEngine* engine = runtime_.matching_engines().find_ordered(options.engine);
  if (engine == nullptr || options.completion == nullptr || options.policy != MatchingPolicy::rank_and_tag ||
      static_cast<std::uint32_t>(source) >= runtime_.fast_path_sources() || tag == any_tag ||
      engine->order()->queued_receives().load(std::memory_order_relaxed) != 0) [[unlikely]]
    return post_ordered_receive_slow(source, tag, buffer, options);
  const core::MatchKey key{tag, static_cast<std::uint32_t>(source), 0};
  const bool is_posted = engine->is_serial()
                             ? engine->try_post_in_order<NoLock>(key, buffer, options.completion,
                                                                 options.user_data, options.handle)
                             : engine->try_post_in_order<TryLock>(key, buffer, options.completion,
                                                                  options.user_data, options.handle);
  if (is_posted || try_receive_unexpected(*engine, source, tag, buffer, options)) return Status::posted();
  return post_ordered_receive_slow(source, tag, buffer, options);
}

[[gnu::noinline]] Status DeviceState::post_ordered_receive_slow(int source, std::uint64_t tag,
                                                                std::span<std::byte> buffer,
                                                                const ReceiveOptions& options) {
  core::MatchingEngine& engine = check_ordered_receive(source, options, "post_receive");
  if (options.completion == nullptr)
    throw Error(
        "post_receive: a completion object is needed, or nobody would learn that the message has come");
  if (engine.is_serial()) engine.set_device(index_);
  // All receives are in one list of the backlog, so that they stay in order.
  return core::submit(
      posts_, {Operation::receive, source, tag, buffer.size(), false, options.may_retry},
      [&] { return attempt_receive(engine, source, tag, buffer, options, false); },
      [&](Status) { return keep_receive(runtime_.rank(), source, tag, buffer, options); });
}

}  // namespace weft::detail
