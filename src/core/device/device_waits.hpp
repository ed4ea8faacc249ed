// How threads wait in a device, and progress it meanwhile: they spin, yield, park.
//
// Sources: waiting.cpp; until_accepted.hpp (blocking posts).
#pragma once

#include "core/backlog/caller.hpp"
#include "core/device/parts/device_failures.hpp"
#include "core/device/parts/device_protocols.hpp"
#include "core/diagnosis/waits.hpp"
#include "network/network.hpp"

#include <weft/completion/completion.hpp>
#include <weft/detail/wait_condition.hpp>
#include <weft/status.hpp>

#include <chrono>
#include <cstdint>
#include <memory>

namespace weft::detail {

class DeviceState;
class RuntimeState;

class DeviceWaits {
 public:
  /// `port`: the device's, which may be replaced.
  DeviceWaits(DeviceState& device, RuntimeState& runtime, DeviceProtocols& protocols,
              core::DeviceFailures& failures, const std::unique_ptr<network::Port>& port);

  /// Returns true when the condition has held: its evaluation that ended the wait was the last one.
  bool wait(const WaitCondition& condition) noexcept;
  void wait_for(Completion& completion, const WaitDescription& description) noexcept;
  /// Progresses until `post` is accepted; see until_accepted.hpp. `remote_id`: the id of the peer's object
  /// that it is for, if there is one.
  template <class Post>
  Status until_accepted(const Post& post, const WaitDescription& description,
                        std::int32_t remote_id = core::WaitingThread::kNoId);

 private:
  bool wait_long(const WaitCondition& condition, bool yields_first) noexcept;
  void leave_wait() noexcept;

  DeviceState& device_;
  RuntimeState& runtime_;
  DeviceProtocols& protocols_;
  core::DeviceFailures& failures_;
  const std::unique_ptr<network::Port>& port_;
  const std::int64_t spin_ns_;
  const std::uint32_t yield_;
  const std::chrono::nanoseconds park_;
};

}  // namespace weft::detail
