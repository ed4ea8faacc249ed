// The thread that carries out what is enqueued on a stream of an accelerator.
#pragma once

#include <weft/accelerator/accelerator_stream.hpp>
#include <weft/completion/completion.hpp>
#include <weft/stream/stream_group.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "concurrent/spsc_queue.hpp"
#include "stream/enqueue/failures.hpp"
#include "stream/enqueue/operation.hpp"
#include "stream/enqueue/pinned_buffers.hpp"
#include "stream/queue_turn.hpp"

namespace weft::stream {

/// Words of host memory by which the accelerator's stream and the proxy take turns: the stream writes
/// `trigger` and waits for `done`.
struct TurnWords {
  std::uint64_t* trigger = nullptr;
  std::uint64_t* done = nullptr;
};

/// What the thread that enqueues passes to the proxy.
struct EnqueuedItem {
  EnqueuedOperation operation;
  /// Captured in a graph: its own words, of which the trigger becomes 1 each time, and is taken back to 0.
  bool is_captured = false;
  TurnWords words{};
  /// Of a captured operation: whether `graph` tells the end of the graph.
  bool has_end = false;
  std::weak_ptr<void> graph;
};

/// What a captured operation had, once its graph has ended.
struct ForgottenItem {
  TurnWords words{};
  std::uint32_t request = StreamRequest::kNone;
};

/// Operations are carried out in the order in which they were enqueued, each once its trigger has come.
/// Captured ones are carried out whenever theirs does, until their graph has ended.
class EnqueueProxy {
 public:
  /// `mine` passes no gate. `turn`, `gate`: of its stream, which is not the null stream; else nullptr.
  EnqueueProxy(StreamGroup& group, GroupStream mine, QueueTurn* turn, weft::detail::StreamGate* gate,
               AcceleratorStream& accelerator, TurnWords words, std::size_t staging);
  /// After stop().
  ~EnqueueProxy();

  // By the thread that enqueues.

  /// Throws weft::Error when the program is inside the stream of the group.
  void push(EnqueuedItem item);
  /// To be called before the first operation on device memory is pushed.
  void prepare_for_device_memory() { buffers_.prepare(); }
  [[nodiscard]] std::optional<ForgottenItem> take_forgotten();
  /// Waits until the stream of the group needs this thread no more for what has ended.
  void wait_settled() const noexcept;
  /// Ends the thread once everything that was pushed has ended. `nothing_comes`: what the accelerator's
  /// stream has not reached by now it never will.
  void stop(bool nothing_comes);

  // Any thread.

  /// Nobody needs the results any more: receives that no message has matched are cancelled.
  void give_up() noexcept { is_given_up_.store(true, std::memory_order_release); }
  /// The operation that is being carried out, in words; empty: none.
  [[nodiscard]] std::string under_way() const;
  [[nodiscard]] Outcome outcome() const noexcept { return failures_.outcome(); }
  [[nodiscard]] std::string error() const { return failures_.error(); }
  [[nodiscard]] std::vector<StreamFailure> take_failures() { return failures_.take(); }
  [[nodiscard]] std::uint64_t ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  [[nodiscard]] std::size_t captured() const noexcept {
    return captured_count_.load(std::memory_order_acquire);
  }

 private:
  /// Signalled at the end of an operation.
  struct Ended final : Completion {
    ~Ended() override { retire(); }
    void signal(Message& message) noexcept override;
    [[nodiscard]] bool ready() const noexcept override { return is_ready.load(std::memory_order_acquire); }
    std::atomic<bool> is_ready{true};
    std::size_t size = 0;  // bytes that lie in the buffer of a receive
    StreamStatus status;
  };
  /// An operation that has been posted.
  struct Posted {
    EnqueuedOperation operation;
    Ended ended;
    PinnedBuffers::Buffer staged;
    ReceiveHandle handle;
    bool has_begun = false;
  };

  void run();
  /// Carries out the next operation whose trigger has come. Returns whether there was one.
  bool step();
  bool step_captured();
  void forget_captured();
  /// Returns how many operations have ended: an operation that is started ends with its wait.
  std::uint32_t carry_out(const EnqueuedOperation& operation) noexcept;
  void begin(Posted& posted, const EnqueuedOperation& operation);
  /// `by`: the operation whose end the accelerator's stream waits for, which has the status.
  void finish(Posted& posted, const EnqueuedOperation& by);
  void await(Posted& posted);
  void collective(const EnqueuedOperation& operation);
  void fail(const EnqueuedOperation& operation, Outcome outcome, const std::string& why);
  /// Moves what was accepted and has not left yet. Returns whether there was something.
  bool settle();
  [[nodiscard]] Status post(Posted& posted, void* data);
  /// The buffer of the operation that its network may access: the operation's own, or a staged one.
  [[nodiscard]] void* host_buffer(Posted& posted);
  void rest(std::uint32_t idle);

  StreamGroup& group_;
  GroupStream mine_;
  QueueTurn own_turn_;  // of a queue on the null stream, whose gate nobody needs
  QueueTurn& turn_;
  weft::detail::StreamGate* const gate_;
  AcceleratorStream& accelerator_;
  const TurnWords words_;
  PinnedBuffers buffers_;
  concurrent::SpscQueue<EnqueuedItem> queue_;
  concurrent::SpscQueue<ForgottenItem> forgotten_;
  std::atomic<std::uint64_t> pushed_{0};
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> nothing_comes_{false};
  std::atomic<bool> is_given_up_{false};
  std::atomic<std::uintptr_t> mark_{0};  // of the proxy's thread
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<std::size_t> captured_count_{0};
  Failures failures_;
  mutable std::mutex current_mutex_;  // guards current_
  const EnqueuedOperation* current_ = nullptr;
  // Of the proxy's thread.
  std::vector<EnqueuedItem> captured_;
  std::size_t next_captured_ = 0;  // the one that most likely comes next
  std::vector<std::unique_ptr<Posted>> requests_;
  std::uint32_t started_ = 0;  // that have not been waited for
  Posted blocking_;
  std::thread thread_;
};

}  // namespace weft::stream
