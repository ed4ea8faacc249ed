#include "collective/note_receive.hpp"

#include "collective/collective_context.hpp"

namespace weft::collective {

void NoteReceive::post() {
  ReceiveOptions options = context_.receive_options(*this);
  options.policy = MatchingPolicy::tag_only;
  options.may_retry = false;
  // Where not even the backlog takes it, this rank is asked in vain: who asks waits on.
  static_cast<void>(context_.port().post_receive(context_.peer_of(context_.rank()), context_.tags().notes(),
                                                 buffer_, options));
}

void NoteReceive::signal(Message& message) noexcept {
  // At the end of the context, and once a member has failed, nobody asks any more.
  if (is_stopped_.load(std::memory_order_relaxed)) return;
  if (message.outcome() != Outcome::ok && message.outcome() != Outcome::truncated) return;
  if (message.outcome() == Outcome::ok) context_.roll_call().arrive(message);
  post();
}

}  // namespace weft::collective
