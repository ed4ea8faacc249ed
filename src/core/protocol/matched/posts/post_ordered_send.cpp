// Posts of sends to ordered engines.
#include "base/refuse.hpp"
#include "core/protocol/matched/posts/engine_checks.hpp"
#include "core/protocol/matched/posts/send_posts.hpp"
#include "core/protocol/post_checks.hpp"
#include "core/protocol/submit.hpp"

#include <weft/error.hpp>

namespace weft::core {

/// Stores the stream of the engine in the lane, so that the endpoint writes the next short sends itself.
void SendPosts::remember_stream(int peer, const SendOptions& options, Caller caller) noexcept {
  MatchingEngine* engine = engines_.find_existing(options.engine);
  detail::SendLane* lane = posts_.path.lane(peer, options.device);
  if (engine == nullptr || lane == nullptr) return;
  auto* const hold = detail::enter(lane->bias, lane->lock, caller.exclusive);
  if (hold == nullptr) return;
  lane->stream = &engine->order()->sends(peer, static_cast<std::uint8_t>(posts_.context.device));
  lane->ordered_engine = options.engine;
  detail::leave(hold, caller.exclusive);
}

Status SendPosts::post_ordered(int peer, std::uint64_t tag, const SendPayload& payload, Packet* packet,
                               const SendOptions& options, Caller caller) {
  check_peer(peer, posts_.context, "post_send");
  check_class(options.message_class, "post_send");
  MatchingEngine& engine = check_ordered_engine(engines_, options.engine, options.policy, "post_send");
  static_assert(any_tag == 18446744073709551615U);  // as the text says
  if (tag == any_tag) [[unlikely]]
    base::refuse(
        ErrorClass::tag, "post_send",
        "tag 18446744073709551615 is any_tag, which no message to an ordered matching engine can have");
  check_end(options, "post_send");
  if (options.timeout.count() != 0 || options.handle != nullptr) [[unlikely]]
    return post_within(peer, tag, payload, packet, options, caller);
  return submit(
      posts_,
      {Operation::send, peer, tag, payload.size(), posts_.backlog.waits_for_room(peer, options.message_class),
       options.may_retry},
      caller,
      [&](Caller by) {
        const Status status = sender_.attempt_ordered(engine, peer, tag, payload, options, packet, by);
        if (packet != nullptr && !status.is_retry()) packet->reset();
        return status;
      },
      [&](Status refused) { return enqueue(refused, peer, tag, payload, packet, options); });
}

SendSequence& SendPosts::stream_of(const PendingPost& post) noexcept {
  return engines_.find(std::get<PendingSend>(post.other).options.engine)
      ->order()
      ->sends(post.peer, static_cast<std::uint8_t>(posts_.context.device));
}

void SendPosts::leave_backlog(const PendingPost& post) noexcept {
  if (post.in_order) stream_of(post).kept.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace weft::core
