// A short collective whose caller waits, carried out step by step without a graph.
#pragma once

#include "collective/context.hpp"

#include <atomic>
#include <cstring>
#include <span>

namespace weft::detail {

/// Over matched messages.
class AtOnce {
 public:
  AtOnce(CollectiveContext& context, const CollectiveCall& call) noexcept
      : context_(context), call_(call), tag_(context.next_run() << kRunShift) {}

  void begin_segment() noexcept {}  // all of it is one
  void send(int peer, Bytes bytes, std::uint32_t step);
  void receive(int peer, std::span<std::byte> buffer, std::uint32_t step, bool early);
  [[nodiscard]] std::byte* receive_part(int peer, std::size_t bytes, std::uint32_t step) {
    std::byte* part = scratch(bytes);
    receive(peer, {part, bytes}, step, true);
    return part;
  }
  /// Waits until what was sent and received has ended.
  void join() noexcept;
  void compute(std::byte* to, const std::byte* a, const std::byte* b, std::size_t elements) {
    call_.reduction.apply(to, a, b, elements, call_.reduction.operator_bytes);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }
  [[nodiscard]] std::byte* scratch(std::size_t bytes) { return context_.scratch(scratch_++, bytes); }

  /// How it ended; throws weft::Error for a message of another length.
  Outcome end() const;

 private:
  friend class AtOnceByMailbox;
  /// The operations between two joins. At most one of them is a receive.
  class Pending final : public Completion {
   public:
    ~Pending() override { withdraw(); }
    void signal(Message& message) noexcept override;
    [[nodiscard]] bool ready() const noexcept override {
      // Pairs with the release in signal().
      return ended.load(std::memory_order_acquire) == posted;
    }
    std::uint32_t posted = 0;  // of the thread that waits
    std::atomic<std::uint32_t> ended{0};
    std::atomic<Outcome> outcome{Outcome::ok};
    std::size_t expected = 0;  // bytes of the receive
    Mismatch mismatch;         // of the first receive that had one; receives do not overlap
  };
  /// Whether going on makes sense: a rank that has failed answers nothing any more.
  [[nodiscard]] bool has_failed() const noexcept {
    return pending_.outcome.load(std::memory_order_relaxed) != Outcome::ok;
  }
  template <class Post>
  void post(const Post& post);

  CollectiveContext& context_;
  const CollectiveCall& call_;
  const std::uint64_t tag_;
  std::size_t scratch_ = 0;
  Pending pending_;
};

/// Over the mailbox: of barrier and allreduce, up to Mailbox::kBytes.
class AtOnceByMailbox {
 public:
  AtOnceByMailbox(CollectiveContext& context, const CollectiveCall& call) noexcept
      : matched_(context, call), mailbox_(context.mailbox()), turn_(mailbox_.next_turn()) {}

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

  AtOnce matched_;  // for what it keeps
  Mailbox& mailbox_;
  const std::uint32_t turn_;
  // Of the receive before the next join; -1: there is none.
  int source_ = -1;
  std::uint32_t step_ = 0;
  std::span<std::byte> buffer_;
};

}  // namespace weft::detail
