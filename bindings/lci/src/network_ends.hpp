// Ends of operations that are complete when the network is done with them (comp_semantic_t::network).
#pragma once

#include <atomic>
#include <deque>
#include <list>
#include <mutex>

#include "completions.hpp"

namespace lci {

/// Stands for the completion objects of such operations. Only progress tells the objects, so that an
/// operation whose peer turns out to have failed meanwhile does not end as done: over shared memory it ends
/// in its post.
class NetworkEnds final : public OwnCompletion, public weft::Completion {
 public:
  NetworkEnds();
  ~NetworkEnds() override;

  /// Returns what a post passes as its user_context in place of its own.
  [[nodiscard]] void* begin(const comp_t& comp, void* user_context);
  /// The post was refused.
  static void abandon(void* begun) noexcept;
  /// An operation has ended: its status has what begin() has returned.
  void signal(status_t status) override;
  void signal(weft::Message& message) noexcept override { signal(delivery().status_of(message)); }
  [[nodiscard]] bool ready() const noexcept override { return any(); }
  /// Whether operations have ended that nobody has told.
  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_acquire); }
  /// Signals the objects of the operations that have ended: with `fatal` where the peer has failed.
  void tell(const weft::Runtime& runtime);

  /// The object is freed: it is not to be signalled any more.
  static void forget(const comp_impl_t& object) noexcept;

 private:
  struct Waiting {
    const NetworkEnds* of;
    comp_impl_t* comp;  // null: it was freed
    void* user_context;
    status_t status;
    std::list<Waiting>::iterator self;
  };
  // Of all runtimes: objects do not know in which they are used.
  static std::mutex mutex_;
  static std::list<Waiting> waiting_;
  static std::atomic<std::size_t> count_;

  std::deque<Waiting*> ended_;
  std::atomic<bool> any_{false};
};

}  // namespace lci
