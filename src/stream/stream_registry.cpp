#include "stream/stream_registry.hpp"

#include <weft/error.hpp>

#include <cstdlib>
#include <string>

#include "base/fork_watch.hpp"
#include "core/device/device_state.hpp"
#include "stream/attendance.hpp"
#include "stream/pending_text.hpp"

namespace weft::stream {

namespace {

using Threads = weft::detail::ProcessThreads;

// Calls of progress() in a row for a stream that has something to do, before others have their turn.
constexpr int kCallsInARow = 8;

}  // namespace

StreamRegistry& StreamRegistry::of(weft::detail::RuntimeState& runtime) {
  return static_cast<StreamRegistry&>(
      runtime.attachment([&] { return std::make_unique<StreamRegistry>(runtime); }));
}

void StreamRegistry::refuse_in_handler(const char* what) const {
  if (attending_.load(std::memory_order_relaxed) == Threads::mark())
    throw Error(std::string("a handler ") + what +
                " while this thread attends to the stream that it belongs to: streams are made and freed "
                "outside of handlers");
}

std::shared_ptr<StreamState> StreamRegistry::open(Runtime& runtime, std::int32_t device) {
  refuse_in_handler("makes a stream");
  const auto most = static_cast<std::int32_t>(runtime_.attributes().integer(base::Attribute::devices_max));
  if (device != DeviceOptions::kNextFree && (device < 1 || device >= most))
    throw Error("a stream cannot have device " + std::to_string(device) + ": streams have the devices 1 to " +
                std::to_string(most - 1) + " (attribute devices_max)");
  const std::lock_guard lock(mutex_);
  if (device == DeviceOptions::kNextFree) {
    for (device = 1; device < most; ++device)
      if (streams_[static_cast<std::size_t>(device)] == nullptr &&
          !runtime_.devices().has(static_cast<std::uint32_t>(device)))
        break;
    if (device == most)
      throw Error("there is no device left for a stream: the devices 1 to " + std::to_string(most - 1) +
                  " are in use (attribute devices_max)");
  }
  if (streams_[static_cast<std::size_t>(device)] != nullptr)
    throw Error("device " + std::to_string(device) +
                " is that of another stream already; one that is gone lives on in its groups until they end");
  // The last of stream and groups frees it.
  const std::shared_ptr<StreamState> state(new StreamState(runtime, *this, static_cast<std::uint8_t>(device)),
                                           [](StreamState* stream) {
                                             if (!base::is_forked_copy()) stream->registry.close(*stream);
                                             delete stream;
                                           });
  streams_[static_cast<std::size_t>(device)] = state.get();
  count_.fetch_add(1, std::memory_order_relaxed);
  return state;
}

std::shared_ptr<StreamState> StreamRegistry::null_stream(Runtime& runtime) {
  refuse_in_handler("asks for the null stream");
  const std::lock_guard lock(mutex_);
  if (null_ == nullptr) {
    null_ = std::make_shared<StreamState>(runtime, *this);
    streams_[0] = null_.get();
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  return null_;
}

void StreamRegistry::close(StreamState& stream) noexcept {
  if (attending_.load(std::memory_order_relaxed) == Threads::mark()) {
    runtime_.log().error("a handler frees stream " + std::to_string(stream.index) +
                         " while this thread attends to streams: they are freed outside of handlers");
    std::abort();
  }
  {
    const std::lock_guard lock(mutex_);
    streams_[stream.index] = nullptr;  // from here on nobody attends to it
    count_.fetch_sub(1, std::memory_order_relaxed);
  }
  if (const std::string pending = pending_of(stream); !pending.empty())
    runtime_.log().error("stream " + std::to_string(stream.index) +
                         " was freed with operations pending: " + pending);
}

StreamState* StreamRegistry::find(std::uint32_t device) {
  const std::lock_guard lock(mutex_);
  return device < streams_.size() ? streams_[device] : nullptr;
}

bool StreamRegistry::has_others(const StreamState* except) const noexcept {
  return count_.load(std::memory_order_relaxed) > (except != nullptr ? 1U : 0U);
}

std::size_t StreamRegistry::attend(const StreamState* except) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return 0;
  attending_.store(Threads::mark(), std::memory_order_relaxed);
  Attendance<Threads, StreamState, kDevices> attendance;
  for (StreamState* const stream : streams_) {
    if (stream == nullptr || stream == except) continue;
    const std::uint32_t polls = stream->polls.load(std::memory_order_relaxed);
    const bool is_polled = polls != stream->polls_seen;
    stream->polls_seen = polls;
    if (is_polled) continue;
    // The thread of a queue keeps the gate until somebody wants it.
    if (stream->turn.is_owned() && stream->turn.release(stream->gate) != QueueTurn::Released::yes) continue;
    attendance.take(*stream);
  }
  const std::size_t done = attendance.finish([](StreamState& stream) {
    if (stream.shared) return stream.shared->progress();
    std::size_t moved = 0;
    for (int call = 0; call < kCallsInARow; ++call) {
      const std::size_t more = stream.serial->progress();
      if (more == 0) break;
      moved += more;
    }
    return moved;
  });
  attending_.store(0, std::memory_order_relaxed);
  return done;
}

}  // namespace weft::stream
