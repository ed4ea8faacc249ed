#include "collective/at_once.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

namespace weft::collective {

namespace {

/// A length as the user data of a receive, which says nothing when it is null.
void* with_length(std::size_t length) noexcept { return reinterpret_cast<void*>(std::uintptr_t{length} + 1); }
std::size_t length_in(void* user_data) noexcept { return reinterpret_cast<std::uintptr_t>(user_data) - 1; }

}  // namespace

void AtOnce::Pending::signal(Message& message) noexcept {
  const std::size_t length = message.user_data() == nullptr ? expected : length_in(message.user_data());
  if (message.operation() == Operation::receive && message.length() != length &&
      (message.outcome() == Outcome::ok || message.outcome() == Outcome::truncated)) {
    // The collective goes on, so that the ranks with the right length do not wait for ever. Several threads
    // may deliver; the waiting one reads when all have ended.
    if (!has_mismatch.exchange(true, std::memory_order_relaxed))
      mismatch = {message.peer(), message.length(), length};
  } else if (message.outcome() != Outcome::ok) {
    outcome.store(message.outcome(), std::memory_order_relaxed);
  }
  // Pairs with the acquire in ready().
  ended.fetch_add(1, std::memory_order_release);
  notify_waiters_of(this);
}

template <class Post>
void AtOnce::post(int peer, const Post& post) {
  Status status = post();
  if (status.is_retry()) [[unlikely]]
    return post_again(
        peer, [](void* what) noexcept { return (*static_cast<const Post*>(what))(); },
        const_cast<Post*>(&post));
  if (status.is_posted()) ++pending().posted;
}

void AtOnce::post_again(int peer, Status (*try_again)(void*) noexcept, void* what) {
  LongWait waiting(
      context_, number_, {&peer, 1}, [](void*) noexcept { return false; }, nullptr);
  Status status = try_again(what);
  for (std::uint32_t idle = 0; status.is_retry(); status = try_again(what)) {
    if (context_.port().progress() != 0) {
      idle = 0;
    } else if (++idle > detail::CollectivePort::spin_budget()) {
      std::this_thread::yield();
      if (waiting.is_over()) return give_up();
    }
    if (context_.has_lost_a_rank()) {  // the peer may have given up, and then returns no credit
      outcome_ = Outcome::peer_failed;
      return;
    }
  }
  if (status.is_posted()) ++pending().posted;
}

void AtOnce::send_matched(int peer, Bytes bytes, std::uint64_t step_tag) {
  if (has_failed()) return;
  const SendOptions options = context_.send_options(pending());
  const int to = context_.peer_of(peer);
  post(peer, [&] { return context_.port().post_send(to, tag_ | step_tag, bytes, options); });
}

void AtOnce::receive_matched(int peer, std::span<std::byte> buffer, std::uint64_t step_tag) {
  if (has_failed()) return;
  ReceiveOptions options = context_.receive_options(pending());
  if (source_ < 0) {
    pending().expected = buffer.size();
    source_ = peer;
  } else {
    context_.sources().add(source_, peer);
    options.user_data = with_length(buffer.size());
  }
  const int from = context_.peer_of(peer);
  post(peer, [&] { return context_.port().post_receive(from, tag_ | step_tag, buffer, options); });
}

void AtOnce::join_matched() noexcept {
  for (std::uint32_t polls = detail::CollectivePort::spin_budget(); polls != 0 && !pending_->ready(); --polls)
    context_.port().progress();
  if (!pending_->ready() &&
      !context_.wait(*pending_, number_, context_.sources().or_only({&source_, source_ >= 0 ? 1U : 0U})))
    give_up();
  if (source_ >= 0) context_.sources().clear();
  source_ = -1;
}

void AtOnce::give_up() noexcept {
  differs_ = true;
  if (pending_) pending_->retire();
  outcome_ = Outcome::truncated;
}

Outcome AtOnce::end() const {
  if (differs_) return context_.give_up(number_);
  if (mismatch_.peer >= 0) context_.report(call_, number_, mismatch_);
  if (pending_ && pending_->mismatch.peer >= 0) context_.report(call_, number_, pending_->mismatch);
  return outcome();
}

void AtOnceByMailbox::send(int peer, Bytes bytes, std::uint32_t step) {
  if (matched_.has_failed()) return;
  const ActiveMessageOptions options{
      .completion = &matched_.pending(), .tag = turn_ + step, .may_complete_now = true};
  const int to = matched_.context_.peer_of(peer);
  matched_.post(peer,
                [&] { return matched_.context_.port().post_am(to, mailbox_.remote(), bytes, options); });
}

void AtOnceByMailbox::receive(int peer, std::span<std::byte> buffer, std::uint32_t step, bool) {
  source_ = peer;
  step_ = step;
  buffer_ = buffer;
  mailbox_.await(turn_ + step);
}

void AtOnceByMailbox::join() {
  detail::CollectivePort& port = matched_.context_.port();
  if (source_ >= 0 && !matched_.has_failed()) {
    if (!mailbox_.has_arrived()) {
      for (std::uint32_t polls = detail::CollectivePort::spin_budget(); polls != 0 && !mailbox_.has_arrived();
           --polls)
        port.progress();
      if (!mailbox_.has_arrived()) [[unlikely]]
        wait_long();
    }
    if (mailbox_.has_arrived()) {
      const std::size_t size = mailbox_.arrived_size();
      if (size != buffer_.size() && matched_.mismatch_.peer < 0) [[unlikely]]
        matched_.mismatch_ = {matched_.context_.peer_of(source_), size, buffer_.size()};
      std::byte* part = mailbox_.data_of(turn_ + step_);
      const std::size_t bytes = std::min(size, buffer_.size());
      if (part != buffer_.data() && bytes != 0) std::memcpy(buffer_.data(), part, bytes);
      mailbox_.clear();
    }
  }
  source_ = -1;
  matched_.join();
}

void AtOnceByMailbox::wait_long() {
  detail::CollectivePort& port = matched_.context_.port();
  ReceiveHandle handle;
  ReceiveOptions options = matched_.context_.receive_options(mailbox_);
  options.handle = &handle;
  // No rank sends a message to this receive, except one of another length.
  const int peer = matched_.context_.peer_of(source_);
  while (port.post_receive(peer, matched_.tag_ | matched_.context_.tags().step_tag(0, step_), {}, options)
             .is_retry())
    port.progress();
  const bool agrees = matched_.context_.wait(mailbox_, matched_.number_, {&source_, 1});
  if (mailbox_.has_arrived() || !agrees) {
    static_cast<void>(port.cancel(handle));
    while (!mailbox_.guard_ended()) port.progress();
    if (!mailbox_.has_arrived()) matched_.give_up();
    return;
  }
  if (mailbox_.guard_outcome() == Outcome::ok || mailbox_.guard_outcome() == Outcome::truncated) {
    matched_.mismatch_ = {peer, mailbox_.guard_length(), buffer_.size()};
    // The peer waits for a matched message, and learns from this one that the lengths differ.
    matched_.send_matched(source_, {mailbox_.data_of(turn_ + step_), buffer_.size()},
                          matched_.context_.tags().step_tag(0, step_));
  } else {
    matched_.outcome_ = mailbox_.guard_outcome();
  }
}

}  // namespace weft::collective
