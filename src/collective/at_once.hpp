// A short collective whose caller waits, carried out step by step without a graph.
#pragma once

#include "collective/collective_context.hpp"

#include <atomic>
#include <cstring>
#include <optional>
#include <span>

namespace weft::collective {

/// The steps of a short collective: messages to members on this host go through shared memory, once its
/// members are connected, and all others are matched.
class AtOnce {
 public:
  AtOnce(CollectiveContext& context, const detail::CollectiveCall& call,
         Algorithm algorithm = Algorithm::any) noexcept
      : context_(context),
        call_(call),
        algorithm_(algorithm),
        number_(context.next_run(call)),
        signature_(signature_of(call)),
        tag_(context.tags().of(number_, signature_)),
        channels_(context.near().connected()) {}

  /// Connects the members on this host, in the run that the call begins next. Returns the outcome; the call
  /// goes on where it is ok.
  [[nodiscard]] static Outcome connect(CollectiveContext& context, const detail::CollectiveCall& call);

  [[nodiscard]] Algorithm algorithm() const noexcept { return algorithm_; }
  [[nodiscard]] const TeamHosts& hosts() const noexcept { return context_.algorithms().hosts(); }
  void begin_segment() noexcept {}  // the whole collective is one segment
  void send(int peer, Bytes bytes, std::uint32_t step) {
    if (const int member = member_of(peer, bytes.size()); member >= 0) return send_near(member, bytes, step);
    send_matched(peer, bytes, context_.tags().step_tag(0, step));
  }
  void receive(int peer, std::span<std::byte> buffer, std::uint32_t step, bool) {
    if (const int member = member_of(peer, buffer.size()); member >= 0)
      context_.near().receives().push_back({peer, member, near_word(step), step, buffer});
    else
      receive_matched(peer, buffer, context_.tags().step_tag(0, step));
  }
  [[nodiscard]] std::byte* receive_part(int peer, std::size_t bytes, std::uint32_t step) {
    std::byte* part = scratch(bytes);
    receive(peer, {part, bytes}, step, true);
    return part;
  }
  /// Waits until the sends and receives since the last join() have ended.
  void join() noexcept {
    if (channels_ != nullptr) {
      if (context_.near().is_due_to_progress()) context_.port().progress();
      if (!context_.near().receives().empty()) join_near();
    }
    if (pending_) join_matched();
  }
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
    Pending() noexcept {}  // not defaulted: the outer class makes one before it is complete
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
  /// Made by the first matched message.
  [[nodiscard]] Pending& pending() noexcept { return pending_ ? *pending_ : pending_.emplace(); }
  [[nodiscard]] Outcome outcome() const noexcept {
    const Outcome matched = pending_ ? pending_->outcome.load(std::memory_order_relaxed) : Outcome::ok;
    return outcome_ != Outcome::ok ? outcome_ : matched;
  }
  /// Returns true when an operation has failed: going on makes no sense, since a rank that has failed does
  /// not answer any more.
  [[nodiscard]] bool has_failed() const noexcept { return outcome() != Outcome::ok; }
  [[nodiscard]] bool is_spoiled() const noexcept {
    return has_failed() || mismatch_.peer >= 0 || (pending_ && pending_->mismatch.peer >= 0);
  }

  [[nodiscard]] int member_of(int peer, std::size_t bytes) const noexcept {
    return channels_ != nullptr && bytes <= HostChannels::kMostBytes ? channels_->member_of(peer) : -1;
  }
  [[nodiscard]] std::uint64_t near_word(std::uint32_t step) const noexcept {
    return MessageWord::with_step(MessageWord::of(number_, signature_), step);
  }
  void send_near(int member, Bytes bytes, std::uint32_t step) {
    if (has_failed()) return;
    if (!channels_->is_open(member) || !channels_->send(member, near_word(step), bytes)) [[unlikely]]
      send_near_later(member, bytes, step);
  }
  void send_near_later(int member, Bytes bytes, std::uint32_t step);
  bool take_near() noexcept;
  void join_near() noexcept;
  void wait_long_for_near() noexcept;
  /// A message that is awaited does not come through shared memory.
  void end_guarded(const NearGuards::Guard& guard) noexcept;

  void send_matched(int peer, Bytes bytes, std::uint64_t step_tag);
  void receive_matched(int peer, std::span<std::byte> buffer, std::uint64_t step_tag);
  void join_matched() noexcept;
  template <class Post>
  void post(int peer, const Post& post);
  void post_again(int peer, Status (*try_again)(void*) noexcept, void* what);
  /// The run cannot end: gives up what it has posted.
  void give_up() noexcept;

  CollectiveContext& context_;
  const detail::CollectiveCall& call_;
  const Algorithm algorithm_;
  const std::uint64_t number_;
  const std::uint32_t signature_;
  const std::uint64_t tag_;
  HostChannels* channels_;  // null: not connected
  std::size_t scratch_ = 0;
  int source_ = -1;       // of the first matched receive since the last join
  bool differs_ = false;  // ranks have called different collectives
  Outcome outcome_ = Outcome::ok;
  Mismatch mismatch_;  // of a message in shared memory
  std::optional<Pending> pending_;
};

/// The steps of a barrier or an allreduce of up to Mailbox::kBytes, over the mailbox.
class AtOnceByMailbox {
 public:
  AtOnceByMailbox(CollectiveContext& context, const detail::CollectiveCall& call,
                  Algorithm algorithm) noexcept
      : matched_(context, call, algorithm),
        mailbox_(*context.mailbox()),
        turn_(mailbox_.next_turn(signature_of(call), matched_.number_)) {}

  [[nodiscard]] Algorithm algorithm() const noexcept { return matched_.algorithm(); }
  [[nodiscard]] const TeamHosts& hosts() const noexcept { return matched_.hosts(); }
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
