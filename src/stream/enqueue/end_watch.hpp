// Says what the destructor of a StreamQueue waits for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "base/log.hpp"
#include "stream/enqueue/proxy.hpp"

namespace weft::stream {

/// From its construction to its destruction somebody waits for the end of a queue. After a second a thread
/// says for what, and lets the queue give up receives that nobody has matched; later it says so again, each
/// time after twice as long.
class EndWatch {
 public:
  EndWatch(EnqueueProxy& proxy, const base::Log& log, std::uint32_t stream);
  ~EndWatch();
  EndWatch(const EndWatch&) = delete;
  EndWatch& operator=(const EndWatch&) = delete;

 private:
  void watch();

  EnqueueProxy& proxy_;
  const base::Log& log_;
  const std::uint32_t stream_;
  std::mutex mutex_;  // guards has_ended_
  std::condition_variable changed_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace weft::stream
