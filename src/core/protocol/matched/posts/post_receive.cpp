// Posts of receives: checks, refusals, the backlog.
#include "base/refuse.hpp"
#include "core/matching/scattered_receive.hpp"
#include "core/protocol/matched/posts/engine_checks.hpp"
#include "core/protocol/matched/posts/receive_posts.hpp"
#include "core/protocol/post_checks.hpp"
#include "core/protocol/submit.hpp"
#include "core/protocol/timed_posts.hpp"

#include <weft/error.hpp>

#include <string>
#include <type_traits>

namespace weft::core {

using detail::NoLock;
using detail::TryLock;

MatchingEngine& ReceivePosts::check(int source, const ReceiveOptions& options, const char* operation) {
  check_tag_mask(options, operation);
  check_source(source, options.policy, posts_.context, operation);
  if (options.completion == nullptr)
    base::refuse(ErrorClass::option, operation,
                 "a completion object is needed, or nobody would learn that the message has come");
  return check_engine(engines_, options.engine, options.policy, operation);
}

/// `user_data`: one or none, so that the arguments of most receives travel in registers.
template <class Locking, class... UserData>
bool ReceivePosts::try_post(std::uint64_t engine_and_source, std::uint64_t tag, std::byte* data,
                            std::size_t size, Completion* completion, UserData... user_data) noexcept {
  MatchingEngines& engines = engines_;  // read once
  const auto id = static_cast<std::uint8_t>(engine_and_source >> 32);
  static_assert(kMatchingEngines == 256);
  MatchingEngine* const engine = engines.slot(id).load(std::memory_order_acquire);
  const auto source = static_cast<std::uint32_t>(engine_and_source);
  if (engine == nullptr || source >= engines.fast_path_sources()) [[unlikely]]
    return false;
  if (!engine->expectation().expects_receives(Locking::kExclusive)) [[unlikely]]
    return try_post_slow<Locking>(engine_and_source, tag, data, size, completion, user_data...);
  return engine->try_post<Locking>({tag, source, 0}, {data, size}, completion, user_data...);
}

/// Slow path of try_post(), where the endpoint does not lock as the engine does, or messages arrive before
/// their receives. Has the same arguments, so that try_post() only jumps.
template <class Locking, class... UserData>
[[gnu::noinline]] bool ReceivePosts::try_post_slow(std::uint64_t engine_and_source, std::uint64_t tag,
                                                   std::byte* data, std::size_t size, Completion* completion,
                                                   UserData... user_data) noexcept {
  using Other = std::conditional_t<Locking::kExclusive, TryLock, NoLock>;
  MatchingEngine& engine =
      *engines_.slot(static_cast<std::uint8_t>(engine_and_source >> 32)).load(std::memory_order_acquire);
  if (!engine.expectation().is_begun()) return false;
  if (engine.is_serial() != Locking::kExclusive)
    return try_post<Other>(engine_and_source, tag, data, size, completion, user_data...);
  if (engine.expectation().expects_unexpected() && (engine_and_source & detail::kMayCompleteNow) == 0)
      [[likely]]
    return receiver_.receive_unexpected_or_post<MatchOrder::unordered, Locking>(
        engine_and_source, tag, data, size, completion, user_data...);
  const auto source = static_cast<std::uint32_t>(engine_and_source);
  const bool is_posted = engine.try_post<Locking>({tag, source, 0}, {data, size}, completion, user_data...);
  if (is_posted) engine.expectation().learn_unexpected(false);
  return is_posted;
}
template bool ReceivePosts::try_post<TryLock>(std::uint64_t, std::uint64_t, std::byte*, std::size_t,
                                              Completion*) noexcept;
template bool ReceivePosts::try_post<NoLock>(std::uint64_t, std::uint64_t, std::byte*, std::size_t,
                                             Completion*) noexcept;
template bool ReceivePosts::try_post<TryLock>(std::uint64_t, std::uint64_t, std::byte*, std::size_t,
                                              Completion*, void*) noexcept;
template bool ReceivePosts::try_post<NoLock>(std::uint64_t, std::uint64_t, std::byte*, std::size_t,
                                             Completion*, void*) noexcept;

Status ReceivePosts::post(int source, std::uint64_t tag, std::span<std::byte> buffer,
                          const ReceiveOptions& options) {
  if (options.engine >= kMatchingEngines) return post_ordered(source, tag, buffer, options);
  MatchingEngine* engine = engines_.find_made(options.engine);
  const MatchKey key{tag, static_cast<std::uint32_t>(source), 0};
  if (engine != nullptr && options.completion != nullptr && options.policy == MatchingPolicy::rank_and_tag &&
      options.tag_mask == ~std::uint64_t{0} && key.source < engines_.fast_path_sources() &&
      (engine->is_serial()
           ? engine->expectation().is_begun() && engine->try_post<NoLock>(key, buffer, options)
           : engine->try_post<TryLock>(key, buffer, options))) [[likely]]
    return Status::posted();
  return post_slow(source, tag, buffer, options);
}

/// Out of line, so that post() saves no registers for it.
[[gnu::noinline]] Status ReceivePosts::post_slow(int source, std::uint64_t tag, std::span<std::byte> buffer,
                                                 const ReceiveOptions& options) {
  if (MatchingEngine* const made = engines_.find_made(options.engine);
      made != nullptr && try_receive_unexpected(*made, source, tag, buffer, options))
    return Status::posted();
  MatchingEngine& engine = check(source, options, "post_receive");
  const Context& context = posts_.context;
  if (engine.is_serial()) engine.expectation().set_device(context.device);
  return submit(
      posts_, {Operation::receive, source, tag, buffer.size(), false, options.may_retry}, kFirstAttempt,
      [&](Caller by) { return attempt(engine, source, tag, buffer, options, by); },
      [&](Status) {
        const bool has_source = source >= 0 && source < context.ranks;
        return enqueue(has_source ? source : context.rank, source, tag, buffer, options);
      });
}

Status ReceivePosts::post_within(int source, std::uint64_t tag, std::span<std::byte> buffer,
                                 const ReceiveOptions& options) {
  return posts_.timed.post("post_receive", {Operation::receive, source, tag, buffer.data(), 0}, options,
                           [&](const ReceiveOptions& within) { return post(source, tag, buffer, within); });
}

Status ReceivePosts::post_parts(int source, std::uint64_t tag, std::span<const MutableBytes> buffers,
                                const ReceiveOptions& options) {
  const bool has_timeout = options.timeout.count() != 0;
  if (buffers.size() < 2) {
    const MutableBytes buffer = buffers.empty() ? MutableBytes{} : buffers.front();
    return has_timeout ? post_within(source, tag, buffer, options) : post(source, tag, buffer, options);
  }
  MatchingEngine& engine = options.engine < kMatchingEngines ? check(source, options, "post_receive")
                                                             : check_ordered(source, options, "post_receive");
  const std::size_t total = size_of(buffers, "post_receive");
  ScatteredReceive::Pool& pool = engine.scattered_receives();
  ScatteredReceive* const receive = pool.take();
  if (receive == nullptr) return Status::retry(Reason::no_request);
  Status status = Status::retry(Reason::no_request);
  if (receive->assign(buffers, total, options, pool)) {
    ReceiveOptions own = options;
    own.completion = receive;
    own.user_data = nullptr;
    own.may_complete_now = false;
    own.arrived = nullptr;
    status = has_timeout ? post_within(source, tag, receive->buffer(), own)
                         : post(source, tag, receive->buffer(), own);
  }
  if (status.is_retry()) pool.release(*receive);
  return status;
}

/// Fast path of a receive that was not posted at once: its unexpected message is the first in its bucket.
/// Returns false, without effect, when it does not apply. `source` may be any number.
bool ReceivePosts::try_receive_unexpected(MatchingEngine& engine, int source, std::uint64_t tag,
                                          std::span<std::byte> buffer,
                                          const ReceiveOptions& options) noexcept {
  const auto rank = static_cast<std::uint32_t>(source);
  if (options.policy != MatchingPolicy::rank_and_tag || options.completion == nullptr ||
      options.may_complete_now || options.handle != nullptr || options.timeout.count() != 0 ||
      options.tag_mask != ~std::uint64_t{0} || rank >= engines_.fast_path_sources())
    return false;
  // Otherwise receives whose messages are always there would never get a fast path.
  if (!engine.expectation().is_begun()) [[unlikely]]
    engine.expectation().set_device(posts_.context.device);
  const bool was_there = engine.is_serial()
                             ? receiver_.try_receive_unexpected<NoLock>(engine, tag, rank, buffer,
                                                                        options.completion, options.user_data)
                             : receiver_.try_receive_unexpected<TryLock>(
                                   engine, tag, rank, buffer, options.completion, options.user_data);
  engine.expectation().learn_unexpected(was_there);
  return was_there;
}

bool ReceivePosts::is_lost(const MatchingEngine& engine, int source, std::uint64_t tag,
                           const ReceiveOptions& options) const noexcept {
  const bool can_be_alone =
      options.policy == MatchingPolicy::rank_and_tag || options.policy == MatchingPolicy::rank_only;
  const bool names_one = can_be_alone && source != any_source;
  const bool is_of_user = options.policy == MatchingPolicy::user;
  return failures_.silent() != 0 &&
         (engine.needed_ranks().is_given_up(tag, failures_.silent_failed() != 0) ||
          (names_one ? failures_.is_silent(source) : !is_of_user && failures_.is_alone()));
}

Status ReceivePosts::attempt(MatchingEngine& engine, int source, std::uint64_t tag,
                             std::span<std::byte> buffer, const ReceiveOptions& options,
                             Caller caller) noexcept {
  const bool is_lost = this->is_lost(engine, source, tag, options);
  ReceiveHandle handle;
  ReceiveOptions named = options;
  if (is_lost) named.handle = &handle;
  const Status status = engine.order() != nullptr
                            ? receiver_.attempt_ordered(engine, source, tag, buffer, named, caller)
                            : receiver_.attempt(engine, source, tag, buffer, named);
  if (!is_lost) return status;
  if (options.handle != nullptr) *options.handle = handle;
  // The receive is posted all the same, because the peer may have sent the message before it failed.
  MatchRecord* record = handle.generation != 0 ? engine.cancel(handle) : nullptr;
  if (record != nullptr)
    end_unmatched(engine, *record, Outcome::peer_failed, posts_.context.device, &posts_.context.ends);
  return status;
}

Status ReceivePosts::enqueue(int peer, int source, std::uint64_t tag, std::span<std::byte> buffer,
                             const ReceiveOptions& options) {
  if (options.handle != nullptr && posts_.timed.deadlines().node_of(options.completion) == nullptr)
    return posts_.timed.post(
        "post_receive", {Operation::receive, source, tag, buffer.data(), 0}, options,
        [&](const ReceiveOptions& named) { return enqueue(peer, source, tag, buffer, named); });
  PendingPost* post = posts_.backlog.take(peer, SignalScope::is_inside());
  if (post == nullptr) return Status::retry(Reason::backlog);
  post->operation = Operation::receive;
  PendingReceive pending{source, tag, buffer, options};
  pending.options.arrived = nullptr;
  pending.options.handle = nullptr;
  post->other = pending;
  if (options.engine >= kMatchingEngines) {
    post->in_order = true;
    engines_.find(options.engine)->order()->queued_receives().fetch_add(1, std::memory_order_relaxed);
  }
  posts_.backlog.add(*post);
  return Status::posted();
}

Status ReceivePosts::post_again(PendingPost& post, Caller caller) noexcept {
  auto& receive = std::get<PendingReceive>(post.other);
  receive.options.may_complete_now = false;  // the poster was told that it was posted
  if (Deadlines::Node* node = posts_.timed.deadlines().node_of(receive.options.completion); node != nullptr)
    receive.options.handle = &node->receive;
  return attempt(*engines_.find(receive.options.engine), receive.source, receive.tag, receive.buffer,
                 receive.options, caller);
}

void ReceivePosts::leave_backlog(const PendingPost& post) noexcept {
  if (post.in_order)
    engines_.find(std::get<PendingReceive>(post.other).options.engine)
        ->order()
        ->queued_receives()
        .fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace weft::core
