// The side of a StreamQueue that enqueues.
#pragma once

#include <weft/runtime.hpp>
#include <weft/stream/stream_queue.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "stream/enqueue/proxy.hpp"
#include "stream/stream_state.hpp"

namespace weft::stream {

/// Words that an accelerator sees, for as long as the object lives.
class AcceleratorWords {
 public:
  explicit AcceleratorWords(AcceleratorStream& accelerator) noexcept : accelerator_(accelerator) {}
  ~AcceleratorWords() {
    for (std::uint64_t* const block : blocks_) accelerator_.free_words(block);
  }
  AcceleratorWords(const AcceleratorWords&) = delete;
  AcceleratorWords& operator=(const AcceleratorWords&) = delete;
  /// The words of a turn lie in cache lines of their own: two sides write them.
  [[nodiscard]] TurnWords take();

 private:
  static constexpr std::size_t kLine = 8;  // words
  static constexpr std::size_t kTurns = 64;
  AcceleratorStream& accelerator_;
  std::vector<std::uint64_t*> blocks_;
  std::size_t used_ = kTurns;
};

class EnqueueEngine {
 public:
  EnqueueEngine(StreamGroup& group, std::uint32_t index, AcceleratorStream& accelerator,
                const StreamQueueOptions& options);
  ~EnqueueEngine();

  void enqueue(EnqueuedOperation operation);
  [[nodiscard]] StreamRequest start(EnqueuedOperation operation);
  void wait(StreamRequest request, StreamStatus* status);
  void check_collective(const char* what) const;
  void check_rank(int rank, const char* what) const;
  void check_address(StreamAddress address, bool is_receive) const;
  [[nodiscard]] Outcome wait_ended();
  [[nodiscard]] EnqueueProxy& proxy() const noexcept { return *proxy_; }

 private:
  /// The stream has no other queue as long as this lives.
  class Claim {
   public:
    Claim(StreamGroup& group, std::uint32_t index);
    ~Claim();
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    /// nullptr: the null stream.
    [[nodiscard]] StreamState* state() const noexcept { return state_; }

   private:
    StreamGroup& group_;
    const std::uint32_t index_;
    StreamState* state_ = nullptr;
  };
  /// By request.
  struct Request {
    std::uint32_t generation = 0;
    bool is_open = false;      // it has been started, and not been waited for
    bool is_captured = false;  // its number stands for it as long as the graph lives
  };
  void take_forgotten();
  [[nodiscard]] TurnWords take_words();

  StreamGroup& group_;
  const std::uint32_t index_;
  AcceleratorStream& accelerator_;
  const Claim claim_;
  const std::uint64_t queue_;  // numbers the queues of the process
  AcceleratorWords all_words_;
  const TurnWords words_;
  std::unique_ptr<EnqueueProxy> proxy_;
  std::uint64_t number_ = 0;
  std::uint64_t captured_ = 0;
  bool has_device_memory_ = false;
  std::vector<Request> requests_;
  std::vector<std::uint32_t> free_requests_;
  std::vector<TurnWords> free_words_;  // of captured operations that are forgotten
  const weft::detail::RuntimeUser user_;
};

}  // namespace weft::stream
