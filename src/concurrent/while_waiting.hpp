// What a thread does again and again while it waits for others to leave, because they may wait for it.
#pragma once

#include <utility>

namespace weft::concurrent {

/// Sets that for the calling thread, until the end of the scope. Whoever waits calls work().
class WhileWaiting {
 public:
  using Work = void (*)() noexcept;

  explicit WhileWaiting(Work call) noexcept : outer_(std::exchange(work_, call)) {}
  ~WhileWaiting() { work_ = outer_; }
  WhileWaiting(const WhileWaiting&) = delete;
  WhileWaiting& operator=(const WhileWaiting&) = delete;

  static void work() noexcept {
    if (work_ != nullptr) work_();
  }

 private:
  static inline thread_local Work work_ = nullptr;
  const Work outer_;
};

}  // namespace weft::concurrent
