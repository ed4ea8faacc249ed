// An operation that has been enqueued.
#pragma once

#include <weft/collective/operators.hpp>
#include <weft/memory.hpp>
#include <weft/stream/stream_group.hpp>
#include <weft/stream/stream_queue.hpp>
#include <weft/types.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::stream {

enum class EnqueuedKind : std::uint8_t {
  send,
  receive,
  wait,
  put,
  active_message,
  barrier,
  broadcast,
  allreduce
};

struct EnqueuedOperation {
  EnqueuedKind kind = EnqueuedKind::barrier;
  bool is_started = false;  // the accelerator's stream does not wait for its end
  bool is_captured = false;
  std::uint64_t number = 0;  // the trigger for which it waits; of a captured operation: its index
  StreamAddress address;     // of sends and receives; rank: of puts and active messages
  std::uint32_t tag = 0;
  bool has_any_tag = false;
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t size = 0;  // bytes
  int root = 0;
  std::uint32_t request = ~std::uint32_t{0};  // of operations that are started, and of waits
  StreamStatus* status = nullptr;
  RemoteAddress region{};
  RemoteCompletion remote{};
  weft::detail::Reduction reduction{};
};

/// "receive of 8 bytes from stream 0 of rank 1 with tag 5".
[[nodiscard]] std::string describe(const EnqueuedOperation& operation);

}  // namespace weft::stream
