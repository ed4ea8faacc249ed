// Finds a second thread that uses what one thread at a time may use.
#pragma once

#include "call.hpp"

#include <atomic>

namespace weft::c {

/// By plain stores, so that two threads that enter at the very same moment may both pass; a thread that meets
/// one that waits inside never does.
class SerialUse {
 public:
  /// The calling thread is inside for the lifetime of the object; entries of one thread nest. Throws
  /// BadArgument when another thread is inside.
  class Entry {
   public:
    explicit Entry(SerialUse& use) : use_(use) {
      static thread_local char mark;
      const char* const inside = use_.inside_.load(std::memory_order_acquire);
      if (inside == nullptr)
        use_.inside_.store(&mark, std::memory_order_relaxed);
      else if (inside != &mark)
        throw BadArgument(
            "endpoint is inside a call of another thread: it was made with WEFT_SERIAL, for one thread at a "
            "time");
      is_first_ = inside == nullptr;
    }
    ~Entry() {
      if (is_first_) use_.inside_.store(nullptr, std::memory_order_release);
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    SerialUse& use_;
    bool is_first_ = false;
  };

 private:
  std::atomic<const char*> inside_{nullptr};
};

}  // namespace weft::c
