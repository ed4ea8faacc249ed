// Ends of operations that are complete when the network is done with them (comp_semantic_t::network).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "completions.hpp"

namespace lci {

/// An operation of that kind, from its post until its object has been signalled.
struct WaitingEnd {
  std::atomic<comp_impl_t*> comp{nullptr};  // null: it was freed
  void* user_context = nullptr;
  status_t status;
  WaitingEnd* next = nullptr;                 // of those that have ended and are not signalled yet
  std::atomic<std::uint32_t> next_unused{0};  // index + 1 of the next unused record; 0: none
  std::uint32_t index = 0;
};

/// The records of one runtime. They are used again, so that posts allocate only while there are more of them
/// under way than ever before. Any thread takes and returns them, without a lock.
class WaitingEnds {
 public:
  /// Throws std::bad_alloc.
  [[nodiscard]] WaitingEnd& take();
  void give_back(WaitingEnd& record) noexcept;
  /// Calls visit(record) for each record that has ever been used.
  template <class Visit>
  void for_each(const Visit& visit) noexcept {
    for (std::uint32_t block = 0; block < blocks_.size(); ++block)
      if (WaitingEnd* const first = blocks_[block].load(std::memory_order_acquire); first != nullptr)
        for (std::uint32_t at = 0; at < size_of(block); ++at) visit(first[at]);
  }
  /// Whether any runtime has had such an operation.
  [[nodiscard]] static bool are_used() noexcept { return are_used_.load(std::memory_order_relaxed); }
  WaitingEnds() = default;
  WaitingEnds(const WaitingEnds&) = delete;
  WaitingEnds& operator=(const WaitingEnds&) = delete;
  ~WaitingEnds();

 private:
  static constexpr std::uint32_t kFirstBlock = 64;  // each block is twice as large as the one before
  [[nodiscard]] static constexpr std::uint32_t size_of(std::uint32_t block) noexcept {
    return kFirstBlock << block;
  }
  [[nodiscard]] WaitingEnd& at(std::uint32_t index) const noexcept;
  [[nodiscard]] WaitingEnd* take_unused() noexcept;
  void grow();

  static std::atomic<bool> are_used_;
  std::array<std::atomic<WaitingEnd*>, 20> blocks_{};
  std::mutex growing_;
  // index + 1 (32) of the first unused record, below a count (32) of changes: a record that was taken and
  // returned meanwhile is another one.
  std::atomic<std::uint64_t> unused_{0};
};

/// Stands for the completion objects of such operations. Only progress signals the objects, so that an
/// operation whose peer turns out to have failed meanwhile does not end as done: over shared memory it ends
/// in its post.
class NetworkEnds final : public OwnCompletion, public weft::Completion {
 public:
  NetworkEnds();
  ~NetworkEnds() override;

  /// Returns what a post passes as its user_context in place of its own.
  [[nodiscard]] void* begin(const comp_t& comp, void* user_context);
  /// The post was refused.
  void abandon(void* begun) noexcept;
  /// An operation has ended: its status has what begin() has returned.
  void signal(status_t status) override;
  void signal(weft::Message& message) noexcept override { signal(delivery().status_of(message)); }
  [[nodiscard]] bool ready() const noexcept override { return any(); }
  /// Whether operations have ended that are not signalled yet.
  [[nodiscard]] bool any() const noexcept { return ended_.load(std::memory_order_relaxed) != nullptr; }
  /// Signals the objects of the operations that have ended: with `fatal` where the peer has failed.
  void signal_ended(const weft::Runtime& runtime);

  /// The object is freed: it is not to be signalled any more, by any runtime. (Objects do not know in which
  /// they are used.)
  static void forget(const comp_impl_t& object) noexcept;

 private:
  void signal_one(WaitingEnd& ended, const weft::Runtime& runtime);

  WaitingEnds records_;
  std::atomic<WaitingEnd*> ended_{nullptr};  // the last one first
};

}  // namespace lci
