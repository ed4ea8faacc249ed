// A short collective whose caller waits, carried out step by step without a graph.
#pragma once

#include "collective/collective_context.hpp"

#include <atomic>
#include <cstring>
#include <span>

namespace weft::collective {

/// The steps of a short collective, over matched messages.
class AtOnce {
 public:
  AtOnce(CollectiveContext& context, const detail::CollectiveCall& call) noexcept
      : context_(context),
        call_(call),
        number_(context.next_run(call)),
        tag_(context.tag_of(number_, call)) {}

  void begin_segment() noexcept {}  // the whole collective is one segment
  void send(int peer, Bytes bytes, std::uint32_t step);
  void receive(int peer, std::span<std::byte> buffer, std::uint32_t step, bool early);
  [[nodiscard]] std::byte* receive_part(int peer, std::size_t bytes, std::uint32_t step) {
    std::byte* part = scratch(bytes);
    receive(peer, {part, bytes}, step, true);
    return part;
  }
  /// Waits until the sends and receives since the last join() have ended.
  void join() noexcept;
  /// `b` is what has arrived. Nothing is made of a message that did not come, or not whole: in its place lie
  /// bytes of earlier ones.
  void compute(std::byte* to, const std::byte* a, const std::byte* b, std::size_t elements) {
    if (!is_spoiled())
      call_.reduction.apply(to, a, b, elements, call_.reduction.operator_bytes);
    else if (to != a)
      copy(to, a, elements * call_.reduction.element);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }
  [[nodiscard]] std::byte* scratch(std::size_t bytes) { return context_.scratch(scratch_++, bytes); }

  /// Returns the outcome of the collective; throws weft::Error for a message of another length.
  Outcome end() const;

 private:
  friend class AtOnceByMailbox;
  /// The operations between two joins. The length of the first receive is `expected`, further ones carry
  /// theirs with them.
  class Pending final : public Completion {
   public:
    ~Pending() override { withdraw(); }
    void signal(Message& message) noexcept override;
    [[nodiscard]] bool ready() const noexcept override {
      // Pairs with the release in signal().
      return ended.load(std::memory_order_acquire) == posted;
    }
    std::uint32_t posted = 0;  // counted by the thread that waits
    std::atomic<std::uint32_t> ended{0};
    std::atomic<Outcome> outcome{Outcome::ok};
    std::size_t expected = 0;  // bytes of the first receive
    std::atomic<bool> has_mismatch{false};
    Mismatch mismatch;  // of the first receive that has got a message of another length
  };
  /// Returns true when an operation has failed: going on makes no sense, since a rank that has failed does
  /// not answer any more.
  [[nodiscard]] bool has_failed() const noexcept {
    return pending_.outcome.load(std::memory_order_relaxed) != Outcome::ok;
  }
  [[nodiscard]] bool is_spoiled() const noexcept { return has_failed() || pending_.mismatch.peer >= 0; }
  template <class Post>
  void post(int peer, const Post& post);
  void post_again(int peer, Status (*try_again)(void*) noexcept, void* what);
  /// The run cannot end: gives up what it has posted.
  void give_up() noexcept;

  CollectiveContext& context_;
  const detail::CollectiveCall& call_;
  const std::uint64_t number_;
  const std::uint64_t tag_;
  std::size_t scratch_ = 0;
  int source_ = -1;       // of the first receive since the last join
  bool differs_ = false;  // ranks have called different collectives
  Pending pending_;
};

/// The steps of a barrier or an allreduce of up to Mailbox::kBytes, over the mailbox.
class AtOnceByMailbox {
 public:
  AtOnceByMailbox(CollectiveContext& context, const detail::CollectiveCall& call) noexcept
      : matched_(context, call),
        mailbox_(*context.mailbox()),
        turn_(mailbox_.next_turn(signature_of(call), matched_.number_)) {}

  void begin_segment() noexcept {}
  void send(int peer, Bytes bytes, std::uint32_t step);
  void receive(int peer, std::span<std::byte> buffer, std::uint32_t step, bool early);
  /// The part stays in the mailbox.
  [[nodiscard]] std::byte* receive_part(int peer, std::size_t bytes, std::uint32_t step) {
    std::byte* part = mailbox_.data_of(turn_ + step);
    receive(peer, {part, bytes}, step, true);
    return part;
  }
  void join();
  void compute(std::byte* to, const std::byte* a, const std::byte* b, std::size_t elements) {
    matched_.compute(to, a, b, elements);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    matched_.copy(to, from, bytes);
  }
  [[nodiscard]] std::byte* scratch(std::size_t bytes) { return matched_.scratch(bytes); }
  Outcome end() const { return matched_.end(); }

 private:
  /// Waits for the message, or learns that its sender has left.
  void wait_long();

  AtOnce matched_;  // for its state: context, tag, pending operations
  Mailbox& mailbox_;
  const std::uint32_t turn_;
  // The receive before the next join; source_ is -1 when there is none.
  int source_ = -1;
  std::uint32_t step_ = 0;
  std::span<std::byte> buffer_;
};

}  // namespace weft::collective
