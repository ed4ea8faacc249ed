// A thread of its own that progresses a device.
#pragma once

#include <weft/device.hpp>
#include <weft/endpoint.hpp>

#include <memory>
#include <vector>

namespace weft {

struct ProgressThreadOptions {
  /// What the thread may run on, see topology.hpp; empty: what the thread that makes it may run on.
  std::vector<int> processors;
};

/// Progresses one device until it is destroyed: spins, yields, then parks until something arrives. The
/// device must be used through Endpoints (any thread), not a SerialEndpoint.
class WEFT_API ProgressThread {
 public:
  /// Throws weft::Error when the thread cannot run on options.processors.
  explicit ProgressThread(Endpoint endpoint, const ProgressThreadOptions& options = {});
  explicit ProgressThread(Device& device, const ProgressThreadOptions& options = {})
      : ProgressThread(Endpoint{device}, options) {}
  explicit ProgressThread(Runtime& runtime, const ProgressThreadOptions& options = {})
      : ProgressThread(Endpoint{runtime}, options) {}
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
