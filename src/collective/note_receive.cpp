#include "collective/note_receive.hpp"

#include "collective/collective_context.hpp"

namespace weft::collective {

void NoteReceive::begin() {
  receive_.emplace();
  const auto post = [this](Completion& node) {
    ReceiveOptions options = context_.receive_options(node);
    options.policy = MatchingPolicy::tag_only;
    options.may_retry = false;
    return context_.port().post_receive(context_.peer_of(context_.rank()), context_.tags().notes(), buffer_,
                                        options);
  };
  receive_->add(post, [this](const Message& message) {
    const Outcome outcome = message.outcome();
    if (outcome == Outcome::ok && !is_stopped_.load(std::memory_order_relaxed))
      context_.roll_call().arrive(message);
    goes_on_.store(outcome == Outcome::ok || outcome == Outcome::truncated, std::memory_order_relaxed);
    return Outcome::ok;
  });
  receive_->set_completion(this);
  receive_->start();
}

void NoteReceive::signal(Message&) noexcept {
  // At the end of the context, and once a member has failed, nobody asks any more.
  if (!is_stopped_.load(std::memory_order_relaxed) && goes_on_.load(std::memory_order_relaxed))
    receive_->start();
}

}  // namespace weft::collective
