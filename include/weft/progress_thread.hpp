// A thread of its own that progresses a device.
#pragma once

#include <weft/device.hpp>
#include <weft/endpoint.hpp>

#include <memory>

namespace weft {

/// Progresses one device until it is destroyed: spins, yields, then parks until something arrives. The
/// device must be used through Endpoints (any thread), not a SerialEndpoint.
class WEFT_API ProgressThread {
 public:
  explicit ProgressThread(Endpoint endpoint);
  explicit ProgressThread(Device& device) : ProgressThread(Endpoint{device}) {}
  explicit ProgressThread(Runtime& runtime) : ProgressThread(Endpoint{runtime}) {}
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
