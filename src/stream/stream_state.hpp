// What a stream consists of.
#pragma once

#include <weft/detail/stream_gate.hpp>
#include <weft/device.hpp>
#include <weft/endpoint.hpp>
#include <weft/runtime.hpp>
#include <weft/stream/stream_group.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "stream/queue_turn.hpp"
#include "stream/stream_engine.hpp"

namespace weft::stream {

class StreamRegistry;

struct StreamState : std::enable_shared_from_this<StreamState> {
  // The engine first, so that no message arrives before it is serial.
  StreamState(Runtime& runtime, StreamRegistry& in, std::uint8_t device_index)
      : registry(in),
        runtime_state(runtime.state()),
        index(device_index),
        engine(std::in_place, runtime.state(), device_index, true),
        device(std::in_place, runtime, DeviceOptions{.index = device_index}),
        serial(std::in_place, *device),
        view(*this, true),
        view_of_owner(*this, false),
        user(std::in_place, runtime, "Stream (device " + std::to_string(device_index) + ")") {}
  /// The null stream.
  StreamState(Runtime& runtime, StreamRegistry& in)
      : registry(in),
        runtime_state(runtime.state()),
        engine(std::in_place, runtime.state(), std::uint8_t{0}, false),
        shared(std::in_place, runtime),
        view(*this, true),
        view_of_owner(*this, false) {}

  StreamRegistry& registry;
  weft::detail::RuntimeState& runtime_state;
  const std::uint8_t index = 0;
  std::optional<StreamEngine> engine;  // destroyed after the device, which may signal its receives
  std::optional<Device> device;
  std::optional<SerialEndpoint> serial;
  std::optional<Endpoint> shared;
  alignas(64) weft::detail::StreamGate gate;
  QueueTurn turn;
  std::atomic<std::uint32_t> polls{0};  // by the stream's own thread
  Stream view;                          // for groups, which thereby follow a stream that is moved
  Stream view_of_owner;                 // for the thread that has taken the gate: passes none
  // Of the registry, under its lock.
  std::uint32_t polls_seen = ~std::uint32_t{0};
  std::optional<weft::detail::RuntimeUser> user;  // not of the null stream, which the registry owns
};

}  // namespace weft::stream
