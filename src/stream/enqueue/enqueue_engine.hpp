// The side of a StreamQueue that enqueues.
#pragma once

#include <weft/runtime.hpp>
#include <weft/stream/stream_queue.hpp>

#include <cstdint>
#include <vector>

#include "stream/enqueue/proxy.hpp"

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
  void wait(StreamRequest request);
  void check_collective(const char* what) const;
  void check_rank(int rank, const char* what) const;
  void check_address(StreamAddress address, bool is_receive) const;
  [[nodiscard]] Outcome wait_ended();
  [[nodiscard]] const EnqueueProxy& proxy() const noexcept { return proxy_; }

 private:
  StreamGroup& group_;
  const std::uint32_t index_;
  AcceleratorStream& accelerator_;
  AcceleratorWords all_words_;
  const TurnWords words_;
  EnqueueProxy proxy_;
  std::uint64_t number_ = 0;
  std::uint64_t captured_ = 0;
  bool has_device_memory_ = false;
  /// By request: it has been started, and not been waited for.
  struct Request {
    bool is_open = false;
    bool is_captured = false;  // its number stands for it in the graph for good
  };
  std::vector<Request> requests_;
  std::vector<std::uint32_t> free_requests_;
  const weft::detail::RuntimeUser user_;
};

}  // namespace weft::stream
