#pragma once

#include <weft/weft.hpp>

#include <array>
#include <atomic>
#include <cstring>
#include <optional>

#include "perf/measure/idle_strategy.hpp"
#include "perf/workloads/sends_and_receives.hpp"
#include "perf/workloads/transport.hpp"

namespace weft::tools::perf {

/// Active messages between more than two ranks: a receive waits for an arrival from its source, a control
/// word is an arrival of its own.
class WeftAmRanks {
 public:
  static constexpr bool kHasMatching = false;
  static constexpr bool kHasAccess = false;
  static constexpr bool kHasActiveMessages = false;

  WeftAmRanks(Runtime& runtime, int /*thread*/, const Task& task, Endpoint* /*shared*/)
      : runtime_(runtime),
        progresses_(!task.progress_thread),
        yields_(task.yields),
        endpoint_(runtime),
        remote_(runtime.expose(arrivals_, {.id = 1})) {
    if (!progresses_) thread_.emplace(runtime);
    runtime_.barrier();
  }
  ~WeftAmRanks() {
    thread_.reset();
    arrivals_.withdraw();
  }
  WeftAmRanks(const WeftAmRanks&) = delete;
  WeftAmRanks& operator=(const WeftAmRanks&) = delete;

  [[nodiscard]] int rank() const { return runtime_.rank(); }
  [[nodiscard]] int ranks() const { return runtime_.size(); }
  void progress() {
    if (progresses_) endpoint_.progress();
  }
  void post_receive_from(int source, std::uint64_t tag, ByteSpan buffer) {
    if (tag == kControlTag) {
      word_to_ = buffer;
      ++expected_words_;
    } else {
      ++expected_[static_cast<std::size_t>(source)];
    }
  }
  /// Waits as a program would where ranks outnumber cores, and as `weft` does: by the library's own wait.
  void wait_receives() {
    if (yields_ && progresses_) {
      endpoint_.wait_until([this] { return has_all(); });
    } else {
      for (IdleStrategy idle(yields_); !has_all();) idle.poll(*this);
    }
    if (word_to_.empty()) return;
    const std::uint64_t word = arrivals_.word();
    std::memcpy(word_to_.data(), &word, sizeof word);
    word_to_ = {};
  }
  [[gnu::always_inline]] void post_send_to(int target, std::uint64_t tag, ByteView bytes) {
    const auto number = static_cast<std::uint32_t>(tag);
    if (endpoint_.post_am(target, remote_, bytes, {.tag = number}).is_retry()) [[unlikely]]
      post_send_again(target, number, bytes);
  }
  void wait_sends() {}  // small payloads are sent when the post returns

 private:
  static constexpr std::size_t kMostRanks = 16;

  [[gnu::noinline, gnu::cold]] void post_send_again(int target, std::uint32_t tag, ByteView bytes) {
    IdleStrategy idle(yields_);
    do idle.poll(*this);
    while (endpoint_.post_am(target, remote_, bytes, {.tag = tag}).is_retry());
  }
  [[nodiscard]] bool has_all() const {
    const auto ranks = static_cast<std::size_t>(runtime_.size());
    for (std::size_t source = 0; source < ranks; ++source)
      if (arrivals_.data(source) < expected_[source]) return false;
    return arrivals_.words() >= expected_words_;
  }

  /// Counts arrivals; signalled by one thread at a time, the one that progresses.
  class Arrivals final : public Completion {
   public:
    ~Arrivals() override { withdraw(); }
    void signal(Message& message) noexcept override {
      std::uint64_t content = 0;
      if (message.size() == sizeof content) std::memcpy(&content, message.data(), sizeof content);
      if (message.tag() == kControlTag) {
        word_.store(content, std::memory_order_relaxed);  // waited for before the next one
        add(words_);
      } else {
        last_.store(content, std::memory_order_relaxed);
        add(data_[static_cast<std::size_t>(message.peer())]);
      }
    }
    [[nodiscard]] bool ready() const noexcept override { return true; }
    [[nodiscard]] std::uint64_t data(std::size_t source) const noexcept {
      return data_[source].load(std::memory_order_acquire);
    }
    [[nodiscard]] std::uint64_t words() const noexcept { return words_.load(std::memory_order_acquire); }
    [[nodiscard]] std::uint64_t word() const noexcept { return word_.load(std::memory_order_relaxed); }

   private:
    // Pairs with the acquires in data() and words().
    static void add(std::atomic<std::uint64_t>& count) noexcept {
      count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    std::array<std::atomic<std::uint64_t>, kMostRanks> data_{};
    std::atomic<std::uint64_t> words_{0};
    std::atomic<std::uint64_t> word_{0};
    std::atomic<std::uint64_t> last_{0};  // keeps the reads of the payloads
  };

  Runtime& runtime_;
  const bool progresses_;
  const bool yields_;
  std::array<std::uint64_t, kMostRanks> expected_{};
  std::uint64_t expected_words_ = 0;
  ByteSpan word_to_;
  Arrivals arrivals_;
  Endpoint endpoint_;
  RemoteCompletion remote_;
  std::optional<ProgressThread> thread_;
};

}  // namespace weft::tools::perf
