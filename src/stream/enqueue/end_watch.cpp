#include "stream/enqueue/end_watch.hpp"

#include <chrono>
#include <string>

namespace weft::stream {

EndWatch::EndWatch(EnqueueProxy& proxy, const base::Log& log, std::uint32_t stream)
    : proxy_(proxy), log_(log), stream_(stream), thread_([this] { watch(); }) {}

EndWatch::~EndWatch() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void EndWatch::watch() {
  std::unique_lock lock(mutex_);
  std::chrono::seconds waited{1};
  for (std::chrono::seconds slice{1}; !changed_.wait_for(lock, slice, [this] { return has_ended_; });
       slice = waited, waited *= 2) {
    const std::string what = proxy_.under_way();
    log_.warn("the StreamQueue of stream " + std::to_string(stream_) +
              " is being destroyed and has waited for " + std::to_string(waited.count()) + " s for " +
              (what.empty() ? "its accelerator's stream to reach the next operation" : what));
    proxy_.give_up();
  }
}

}  // namespace weft::stream
