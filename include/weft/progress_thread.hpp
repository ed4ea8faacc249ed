// Progress threads: each progresses one device.
#pragma once

#include <weft/device.hpp>
#include <weft/endpoint.hpp>

#include <memory>
#include <vector>

namespace weft {

struct ProgressThreadOptions {
  /// The processors that the thread may run on, see topology.hpp; empty: those of the thread that constructs
  /// it.
  std::vector<int> processors;
};

/// Progresses one device until this object is destroyed: spins, yields, then parks until a message arrives.
/// The device must be used through Endpoints (any thread), not a SerialEndpoint.
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
