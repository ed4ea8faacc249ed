// The matching engine of a stream.
#pragma once

#include <cstdint>

#include "core/matching/matching_engines.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::stream {

/// Open as long as the object lives, as a MatchingEngine of the program is. Beyond those: no id is taken from
/// programs.
class StreamEngine {
 public:
  /// `serial`: only the stream's thread receives, and progresses the device.
  StreamEngine(weft::detail::RuntimeState& runtime, std::uint8_t device, bool serial)
      : runtime_(runtime), id_(runtime.matching_engines().open_of_stream(device, serial).id()) {}
  ~StreamEngine() { runtime_.close_matching_engine(id_); }
  StreamEngine(const StreamEngine&) = delete;
  StreamEngine& operator=(const StreamEngine&) = delete;

  [[nodiscard]] std::uint16_t id() const noexcept { return id_; }

 private:
  weft::detail::RuntimeState& runtime_;
  const std::uint16_t id_;
};

}  // namespace weft::stream
