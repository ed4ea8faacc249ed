// Calls of CUDA's driver from threads that the program knows nothing of.
#pragma once

#include <new>

#include "accelerator/cuda/driver.hpp"

namespace weft::accelerator::cuda {

/// Makes the context current in the calling thread, which may be one of weft's, and lets it call what would
/// break a graph that another thread captures (events, pinned memory): none of it goes into the graph. Both
/// are as before at the end.
class InContext {
 public:
  InContext(const Driver& driver, Context context) : driver_(driver) {
    driver_.check(driver_.current_context(&before_), "cuCtxGetCurrent");
    if (before_ != context) {
      driver_.check(driver_.set_context(context), "cuCtxSetCurrent");
      has_changed_ = true;
    }
    relax();
  }
  /// For destructors: goes on in any case.
  InContext(const Driver& driver, Context context, std::nothrow_t) noexcept : driver_(driver) {
    has_changed_ = driver_.current_context(&before_) == kSuccess && before_ != context &&
                   driver_.set_context(context) == kSuccess;
    relax();
  }
  ~InContext() {
    if (is_relaxed_) static_cast<void>(driver_.exchange_capture_mode(&mode_));
    if (has_changed_) static_cast<void>(driver_.set_context(before_));
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;

 private:
  void relax() noexcept {
    is_relaxed_ =
        driver_.exchange_capture_mode != nullptr && driver_.exchange_capture_mode(&mode_) == kSuccess;
  }

  const Driver& driver_;
  Context before_ = nullptr;
  int mode_ = kRelaxedCapture;  // afterwards the mode of before
  bool has_changed_ = false;
  bool is_relaxed_ = false;
};

}  // namespace weft::accelerator::cuda
