// How a runtime ends, and what ends with it.
#include <sched.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <source_location>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "parcel/runtime/core.hpp"
#include "parcel/runtime/ended_cores.hpp"

namespace weft::parcel {

namespace detail {

Runtime* RuntimeLink::enter() noexcept {
  if ((users_.fetch_add(1, std::memory_order_seq_cst) & kClosed) == 0) return &runtime_;
  leave();
  return nullptr;
}

void RuntimeLink::close() noexcept {
  users_.fetch_or(kClosed, std::memory_order_seq_cst);
  while ((users_.load(std::memory_order_acquire) & ~kClosed) != 0) sched_yield();
}

void RuntimeUse::refuse(const char* what) {
  throw RuntimeEnded(std::string(what) + ", but its parcel runtime has ended");
}

void Core::check_is_open(const std::string& what) const {
  if (is_closed())
    throw RuntimeEnded(
        what + " was called on rank " + std::to_string(rank_) +
        " after its parcel runtime had ended: end the threads that call it before its destructor");
}

void Core::finish() noexcept {
  if (!is_running_.exchange(false)) return;
  if (WorkerPool::current() == &pool_) {
    std::fprintf(
        stderr,
        "weft: rank %d: parcel: a task destroys the runtime that runs it: destroy it in the thread that "
        "has made it\n",
        rank_);
    std::abort();
  }
  barrier_.wait(JobBarrier::Kind::end, std::source_location::current());
  // From now on nobody begins anything.
  link_->close();
  is_closed_.store(true, std::memory_order_seq_cst);
  while (senders_outside_.load(std::memory_order_acquire) != 0) sched_yield();
  while (records_.has_waiting()) sched_yield();  // the others' release
  awaited_.end(size_);
  lasting_->detach();
  waits_.reset();
  pool_.stop();
  port_->stop();
}

void EndedCores::keep(Core* core) noexcept {
  // A thread that calls a runtime which is gone is a mistake that shall be named. The last ones are kept.
  constexpr std::size_t kMost = 16;
  static std::mutex mutex;
  static auto* const kept = new std::vector<Core*>;
  core->release_port();
  Core* oldest = nullptr;
  {
    const std::lock_guard lock(mutex);
    kept->push_back(core);
    if (kept->size() > kMost) {
      oldest = kept->front();
      kept->erase(kept->begin());
    }
  }
  delete oldest;
}

}  // namespace detail
}  // namespace weft::parcel
