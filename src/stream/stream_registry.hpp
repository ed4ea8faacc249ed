// The streams of a runtime, and their attendance: streams that nobody progresses are progressed by threads
// that wait for others.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/runtime/runtime_state.hpp"
#include "stream/stream_state.hpp"

namespace weft::stream {

class StreamRegistry final : public weft::detail::RuntimeAttachment {
 public:
  /// The registry of a runtime, made at the first call. Any thread.
  [[nodiscard]] static StreamRegistry& of(weft::detail::RuntimeState& runtime);
  explicit StreamRegistry(weft::detail::RuntimeState& runtime) noexcept : runtime_(runtime) {}

  /// Opens a stream on the device, or on the lowest that is free. Throws weft::Error. Any thread, not inside
  /// handlers that attend().
  [[nodiscard]] std::shared_ptr<StreamState> open(Runtime& runtime, std::int32_t device);
  /// The null stream, opened at the first call, until the runtime ends.
  [[nodiscard]] std::shared_ptr<StreamState> null_stream(Runtime& runtime);
  /// The last owner frees the stream.
  void close(StreamState& stream) noexcept;
  /// The stream on this device, which is open, or nullptr. Any thread.
  [[nodiscard]] StreamState* find(std::uint32_t device);

  /// Progresses the streams, but `except`, that have not been progressed since the last call, as far as
  /// nobody is inside them. Any thread; does nothing while another one is here. Returns how much was done.
  std::size_t attend(const StreamState* except) noexcept;
  /// Whether there are streams other than `except`. Approximate.
  [[nodiscard]] bool has_others(const StreamState* except) const noexcept;

  [[nodiscard]] weft::detail::RuntimeState& runtime() noexcept { return runtime_; }

 private:
  static constexpr std::size_t kDevices = 256;
  void refuse_in_handler(const char* what) const;

  weft::detail::RuntimeState& runtime_;
  std::mutex mutex_;                          // held while streams are attended to; guards the members below
  std::atomic<std::uintptr_t> attending_{0};  // mark of the thread that attends
  std::array<StreamState*, kDevices> streams_{};
  std::shared_ptr<StreamState> null_;
  std::atomic<std::uint32_t> count_{0};  // with the null stream
};

}  // namespace weft::stream
