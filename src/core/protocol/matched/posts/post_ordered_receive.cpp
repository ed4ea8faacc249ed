// Posts of receives on ordered engines.
#include "base/refuse.hpp"
#include "core/protocol/matched/posts/engine_checks.hpp"
#include "core/protocol/matched/posts/receive_posts.hpp"
#include "core/protocol/submit.hpp"
#include "core/protocol/timed_posts.hpp"

#include <weft/error.hpp>

#include <type_traits>

namespace weft::core {

using detail::NoLock;
using detail::TryLock;

MatchingEngine& ReceivePosts::check_ordered(int source, const ReceiveOptions& options,
                                            const char* operation) {
  MatchingEngine& engine = check_ordered_engine(engines_, options.engine, options.policy, operation);
  if (source != any_source || posts_.context.ranks == 0)
    check_source(source, options.policy, posts_.context, operation);
  return engine;
}

template <class Locking, class... UserData>
bool ReceivePosts::try_post_ordered(std::uint64_t engine_and_source, std::uint64_t tag, std::byte* data,
                                    std::size_t size, Completion* completion,
                                    UserData... user_data) noexcept {
  MatchingEngines& engines = engines_;  // read once
  MatchingEngine* const engine = engines.find_ordered(static_cast<std::uint16_t>(engine_and_source >> 32));
  const auto source = static_cast<std::uint32_t>(engine_and_source);
  if (engine == nullptr || engine->order()->queued_receives().load(std::memory_order_relaxed) != 0)
      [[unlikely]]
    return false;
  if (source >= engines.fast_path_sources()) [[unlikely]]
    return try_post_from_any(engine_and_source, tag, data, size, completion, user_data...);
  if (!engine->expectation().expects_receives(Locking::kExclusive)) [[unlikely]]
    return try_post_ordered_slow<Locking>(engine_and_source, tag, data, size, completion, user_data...);
  return engine->try_post_in_order<Locking>({tag, source, 0}, {data, size}, completion, user_data...);
}
/// Has the arguments of try_post_ordered(), so that it only jumps.
template <class... UserData>
[[gnu::noinline]] bool ReceivePosts::try_post_from_any(std::uint64_t engine_and_source, std::uint64_t tag,
                                                       std::byte* data, std::size_t size,
                                                       Completion* completion,
                                                       UserData... user_data) noexcept {
  void* given = nullptr;
  ((given = user_data), ...);
  return try_post_wildcard(engine_and_source, tag, OrderedMatching::kWholeTag, data, size, completion, given);
}
/// Slow path where messages arrive before their receives, or the endpoint does not lock as the engine does.
template <class Locking, class... UserData>
[[gnu::noinline]] bool ReceivePosts::try_post_ordered_slow(std::uint64_t engine_and_source, std::uint64_t tag,
                                                           std::byte* data, std::size_t size,
                                                           Completion* completion,
                                                           UserData... user_data) noexcept {
  MatchingEngine& engine =
      *engines_.slot(static_cast<std::uint16_t>(engine_and_source >> 32)).load(std::memory_order_acquire);
  using Other = std::conditional_t<Locking::kExclusive, TryLock, NoLock>;
  if (!engine.expectation().is_begun()) [[unlikely]]
    return false;
  if (engine.is_serial() != Locking::kExclusive) [[unlikely]]
    return try_post_ordered_slow<Other>(engine_and_source, tag, data, size, completion, user_data...);
  if (engine.expectation().expects_unexpected() && (engine_and_source & detail::kMayCompleteNow) == 0)
      [[likely]]
    return receiver_.receive_unexpected_or_post<MatchOrder::ordered, Locking>(engine_and_source, tag, data,
                                                                              size, completion, user_data...);
  const auto source = static_cast<std::uint32_t>(engine_and_source);
  const bool is_posted =
      engine.try_post_in_order<Locking>({tag, source, 0}, {data, size}, completion, user_data...);
  if (is_posted) engine.expectation().learn_unexpected(false);
  return is_posted;
}
template bool ReceivePosts::try_post_ordered<TryLock>(std::uint64_t, std::uint64_t, std::byte*, std::size_t,
                                                      Completion*) noexcept;
template bool ReceivePosts::try_post_ordered<NoLock>(std::uint64_t, std::uint64_t, std::byte*, std::size_t,
                                                     Completion*) noexcept;
template bool ReceivePosts::try_post_ordered<TryLock>(std::uint64_t, std::uint64_t, std::byte*, std::size_t,
                                                      Completion*, void*) noexcept;
template bool ReceivePosts::try_post_ordered<NoLock>(std::uint64_t, std::uint64_t, std::byte*, std::size_t,
                                                     Completion*, void*) noexcept;

template <class Locking>
[[gnu::always_inline]] inline bool ReceivePosts::try_post_wildcard(
    MatchingEngine& engine, const MatchKey& key, std::uint64_t tag_mask, std::span<std::byte> buffer,
    Completion* completion, void* user_data, bool may_complete_now) noexcept {
  OrderedMatching& order = *engine.order();
  const OrderedMatching::Hold hold = order.try_enter_decided<Locking>();
  if (hold == nullptr) [[unlikely]]
    return false;
  if (!OrderedMatching::is_wildcard(key)) [[unlikely]] {  // a mask of all bits, and a rank
    order.leave<Locking>(hold);
    return false;
  }
  MatchRecord* const message = order.find_waiting(key, tag_mask);
  if (message == nullptr) {
    MatchRecord* const receive = detail::NamedCompletion::is_noted(*completion)
                                     ? engine.storage().take_receive<Locking>(buffer, completion, user_data)
                                     : nullptr;
    if (receive != nullptr) [[likely]]
      order.post_wildcard(*receive, key, tag_mask);
    order.leave<Locking>(hold);
    return receive != nullptr;
  }
  if (may_complete_now) [[unlikely]] {
    order.leave<Locking>(hold);
    return false;
  }
  order.take_waiting(*message);
  order.leave<Locking>(hold);
  receiver_.complete_unexpected<Locking>(engine, *message, buffer, completion, user_data);
  return true;
}

bool ReceivePosts::try_post_wildcard(std::uint64_t engine_and_source, std::uint64_t tag,
                                     std::uint64_t tag_mask, std::byte* data, std::size_t size,
                                     Completion* completion, void* user_data) noexcept {
  MatchingEngine* const engine = engines_.find_ordered(static_cast<std::uint16_t>(engine_and_source >> 32));
  const auto source = static_cast<std::uint32_t>(engine_and_source);
  const std::uint32_t sources = engines_.fast_path_sources();
  const bool needs_no_check =
      source < sources || (source == static_cast<std::uint32_t>(any_source) && sources != 0);
  if (engine == nullptr || !needs_no_check ||
      engine->order()->queued_receives().load(std::memory_order_relaxed) != 0) [[unlikely]]
    return false;
  if (!engine->expectation().is_begun()) [[unlikely]]
    return false;
  const MatchKey key = OrderedMatching::key_of(static_cast<int>(source), tag, tag_mask);
  const bool may_complete_now = (engine_and_source & detail::kMayCompleteNow) != 0;
  return engine->is_serial() ? try_post_wildcard<NoLock>(*engine, key, tag_mask, {data, size}, completion,
                                                         user_data, may_complete_now)
                             : try_post_wildcard<TryLock>(*engine, key, tag_mask, {data, size}, completion,
                                                          user_data, may_complete_now);
}
Status ReceivePosts::post_ordered(int source, std::uint64_t tag, std::span<std::byte> buffer,
                                  const ReceiveOptions& options) {
  MatchingEngine* engine = engines_.find_ordered(options.engine);
  if (engine == nullptr || options.completion == nullptr || options.policy != MatchingPolicy::rank_and_tag ||
      static_cast<std::uint32_t>(source) >= engines_.fast_path_sources() || tag == any_tag ||
      options.tag_mask != ~std::uint64_t{0} ||
      engine->order()->queued_receives().load(std::memory_order_relaxed) != 0) [[unlikely]]
    return post_ordered_slow(source, tag, buffer, options);
  const MatchKey key{tag, static_cast<std::uint32_t>(source), 0};
  const bool is_posted = engine->is_serial()
                             ? engine->expectation().is_begun() &&
                                   engine->try_post_in_order<NoLock>(key, buffer, options.completion,
                                                                     options.user_data, options.handle)
                             : engine->try_post_in_order<TryLock>(key, buffer, options.completion,
                                                                  options.user_data, options.handle);
  if (is_posted || try_receive_unexpected(*engine, source, tag, buffer, options)) return Status::posted();
  return post_ordered_slow(source, tag, buffer, options);
}

[[gnu::noinline]] Status ReceivePosts::post_ordered_slow(int source, std::uint64_t tag,
                                                         std::span<std::byte> buffer,
                                                         const ReceiveOptions& options) {
  MatchingEngine& engine = check_ordered(source, options, "post_receive");
  if (options.completion == nullptr)
    base::refuse(ErrorClass::option, "post_receive",
                 "a completion object is needed, or nobody would learn that the message has come");
  if (engine.is_serial()) engine.expectation().set_device(posts_.context.device);
  // All receives are in one list of the backlog, so that they stay in order.
  return submit(
      posts_, {Operation::receive, source, tag, buffer.size(), false, options.may_retry}, kFirstAttempt,
      [&](Caller by) { return attempt(engine, source, tag, buffer, options, by); },
      [&](Status) { return enqueue(posts_.context.rank, source, tag, buffer, options); });
}

}  // namespace weft::core
