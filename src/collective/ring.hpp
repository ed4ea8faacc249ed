// A long allreduce whose caller waits: pieces that move around a ring.
#pragma once

#include <weft/collective.hpp>
#include <weft/completion/completion.hpp>
#include <weft/types.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::collective {

class CollectiveContext;

/// The elements are cut into a block for each rank, and blocks into pieces. Each piece starts at the rank of
/// its block, goes once around the ring and is added to at every rank, and goes around again as the sum. A
/// rank adds an arriving piece, where it lies (in a packet), to its elements, and passes the result on at
/// once; so all ranks work on different pieces at the same time.
///
/// Pieces are active messages, by the mailbox's handle. A rank may begin before its right neighbour has: it
/// sends no more than a few pieces until that neighbour has sent a notice that it has begun, too.
class Ring final : public Completion {
 public:
  /// Set in the tags of its messages: 1 | turn (7 bits) | round and piece (24).
  static constexpr std::uint32_t kTag = std::uint32_t{1} << 31;

  Ring() = default;
  ~Ring() override { withdraw(); }

  /// Returns true when the ring can carry out the call; the result is the same on all ranks.
  [[nodiscard]] static bool can_run(const detail::CollectiveCall& call, int size) noexcept;
  /// Carries out an allreduce; answers and errors are those of Collective::allreduce.
  Outcome run(CollectiveContext& context, const detail::CollectiveCall& call);

  /// Accepts a message with kTag. Any thread that progresses.
  void arrive(Message& message) noexcept;
  /// Accepts the ends of own sends and of guards (see mailbox.hpp).
  void signal(Message& message) noexcept override;
  /// Returns true when run() can continue.
  [[nodiscard]] bool ready() const noexcept override;

 private:
  enum class Note : std::uint64_t { begun, gave_up, gave_up_for_lengths };
  struct Notice {  // the payload of messages that are not pieces
    Note note;
    std::uint64_t bytes;  // of the call
    std::uint64_t signature;
  };
  static constexpr std::uint32_t kTurns = 128;
  static constexpr std::uint32_t kNoTurn = kTurns;
  static constexpr std::uint32_t kNotice = (1U << 24) - 1;  // in place of round and piece
  struct Piece {
    std::size_t first = 0;
    std::size_t elements = 0;
  };
  struct Guard {
    int peer = -1;
    ReceiveHandle handle{};
    std::atomic<bool> is_lost{false};  // the neighbour has left or failed: it may have done its part
    std::atomic<bool> ended{false};
  };

  void begin(CollectiveContext& context, const detail::CollectiveCall& call);
  Outcome end();
  void take(Message& message) noexcept;
  void take_notice(const Message& message) noexcept;
  bool send_some();
  [[nodiscard]] Status post(int peer, Bytes bytes, std::uint32_t sequence);
  bool post_notices(Note note);
  void post_guards();
  void end_guards();
  [[nodiscard]] Piece piece_of(int block, std::uint32_t piece) const noexcept;
  [[nodiscard]] std::uint32_t pieces_of(int block) const noexcept;
  [[nodiscard]] int block_in(std::uint32_t round) const noexcept;
  [[nodiscard]] bool has_failed() const noexcept {
    return outcome_.load(std::memory_order_acquire) != Outcome::ok;
  }
  [[nodiscard]] bool has_begun(std::size_t side) const noexcept {
    return has_begun_[side].load(std::memory_order_acquire);
  }
  [[nodiscard]] bool is_complete() const noexcept {
    // Pairs with the releases with which pieces and ends are counted.
    return arrived_.load(std::memory_order_acquire) == expected_ && has_begun(0) &&
           has_begun(neighbours_ - 1) && all_sent() &&
           ended_.load(std::memory_order_acquire) == posted_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool all_sent() const noexcept {
    return sent_.load(std::memory_order_relaxed) == to_send_ &&
           noticed_.load(std::memory_order_relaxed) == neighbours_;
  }
  [[nodiscard]] bool may_send() const noexcept;
  [[nodiscard]] bool has_lost_neighbour() const noexcept;

  // State of the run that is under way; set by begin().
  CollectiveContext* context_ = nullptr;
  detail::CollectiveCall call_{};
  int rank_ = 0;
  int size_ = 1;
  std::array<int, 2> neighbour_{};  // right, left
  std::uint32_t neighbours_ = 0;    // number of different ranks among them
  std::uint64_t run_ = 0;
  std::uint32_t turn_ = 0;
  std::size_t piece_elements_ = 1;
  std::uint32_t pieces_ = 0;    // of the widest block
  std::uint32_t own_ = 0;       // pieces of this rank's block, which start at this rank
  std::uint32_t expected_ = 0;  // pieces that arrive
  std::uint32_t to_send_ = 0;
  bool is_blocked_ = false;  // the last post was refused
  bool differs_ = false;     // ranks have called different collectives
  bool has_guards_ = false;
  std::array<Guard, 2> guards_;

  // Written by the thread that runs, read by ready().
  std::atomic<std::uint32_t> sent_{0};     // pieces: own ones first, then those of the outbox
  std::atomic<std::uint32_t> noticed_{0};  // neighbours that have got a notice
  std::atomic<std::uint32_t> posted_{0};   // sends that end after their post

  // Written by threads that deliver.
  alignas(64) std::atomic<std::uint32_t> active_{kNoTurn};
  std::atomic<std::uint32_t> inside_{0};  // threads that deliver
  std::atomic<std::uint32_t> arrived_{0};
  std::atomic<std::uint32_t> ended_{0};
  std::array<std::atomic<bool>, 2> has_begun_{};  // the neighbours, by side
  std::atomic<Outcome> outcome_{Outcome::ok};
  std::atomic<bool> has_heard_{false};  // from a neighbour that gave up
  std::atomic<int> other_length_{-1};   // the rank that has reported another length ...
  // ... and that length; this rank's length if the other rank gave up for lengths
  std::uint64_t other_bytes_ = 0;
  std::atomic<std::uint32_t> queued_{0};
  std::unique_ptr<std::atomic<std::uint32_t>[]> outbox_;  // sequence + 1 of pieces to be passed on
  std::uint32_t capacity_ = 0;

  std::mutex mutex_;  // protects the members below: messages of a turn that has not begun here
  std::uint32_t next_turn_ = 0;
  std::vector<Message> held_;
};

}  // namespace weft::collective
