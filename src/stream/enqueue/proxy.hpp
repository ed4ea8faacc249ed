// The thread that carries out what is enqueued on a stream of an accelerator.
#pragma once

#include <weft/accelerator/accelerator_stream.hpp>
#include <weft/completion/completion.hpp>
#include <weft/stream/stream_group.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "concurrent/spsc_queue.hpp"
#include "stream/enqueue/operation.hpp"
#include "stream/enqueue/pinned_buffers.hpp"

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
};

/// Operations are carried out in the order in which they were enqueued, each once its trigger has come.
/// Captured ones are carried out whenever theirs does.
class EnqueueProxy {
 public:
  EnqueueProxy(StreamGroup& group, GroupStream mine, AcceleratorStream& accelerator, TurnWords words,
               std::size_t staging);
  /// Everything that was pushed must have ended.
  ~EnqueueProxy();

  /// One thread at a time.
  void push(EnqueuedItem item);
  /// To be called before the first operation on device memory is pushed; by the thread that pushes.
  void prepare_for_device_memory() { buffers_.prepare(); }

  /// Waits until the stream of the group needs this thread no more for what has ended. For the thread that
  /// pushes.
  void wait_settled() const noexcept;
  [[nodiscard]] Outcome outcome() const noexcept { return outcome_.load(std::memory_order_acquire); }
  [[nodiscard]] std::string error() const;
  [[nodiscard]] std::uint64_t ended() const noexcept { return ended_.load(std::memory_order_acquire); }

 private:
  /// Signalled at the end of an operation.
  struct Ended final : Completion {
    ~Ended() override { retire(); }
    void signal(Message& message) noexcept override {
      outcome = message.outcome();
      is_ready.store(true, std::memory_order_release);
      notify_waiters();
    }
    [[nodiscard]] bool ready() const noexcept override { return is_ready.load(std::memory_order_acquire); }
    std::atomic<bool> is_ready{true};
    Outcome outcome = Outcome::ok;
  };
  /// An operation that has been posted.
  struct Posted {
    EnqueuedOperation operation;
    Ended ended;
    PinnedBuffers::Buffer staged;
  };

  void run();
  /// Carries out the next operation whose trigger has come. Returns whether there was one.
  bool step();
  bool step_captured();
  void take_captured();
  void carry_out(const EnqueuedOperation& operation) noexcept;
  void begin(Posted& posted, const EnqueuedOperation& operation);
  void finish(Posted& posted);
  void collective(const EnqueuedOperation& operation);
  /// Moves what was accepted and has not left yet. Returns whether there was something.
  bool settle();
  [[nodiscard]] Status post(Posted& posted, void* data);
  /// The buffer of the operation that its network may access: the operation's own, or a staged one.
  [[nodiscard]] void* host_buffer(Posted& posted);
  void fail(const EnqueuedOperation& operation, Outcome outcome, const std::string& why);
  void rest(std::uint32_t idle);

  StreamGroup& group_;
  GroupStream mine_;
  AcceleratorStream& accelerator_;
  const TurnWords words_;
  PinnedBuffers buffers_;
  concurrent::SpscQueue<EnqueuedItem> queue_;
  std::atomic<std::uint64_t> pushed_{0};
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> is_settled_{true};
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<Outcome> outcome_{Outcome::ok};
  mutable std::mutex error_mutex_;  // guards error_
  std::string error_;
  // Of the proxy's thread.
  std::uint64_t taken_ = 0;  // items out of the queue
  std::vector<EnqueuedItem> captured_;
  std::size_t next_captured_ = 0;  // the one that most likely comes next
  std::vector<std::unique_ptr<Posted>> requests_;
  std::uint32_t started_ = 0;  // that have not been waited for
  Posted blocking_;
  std::thread thread_;
};

}  // namespace weft::stream
