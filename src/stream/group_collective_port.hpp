// How a Collective sends over the streams of a group: those of one index, whose devices differ between ranks.
#pragma once

#include <weft/collective/port.hpp>
#include <weft/stream/stream.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include "stream/stream_state.hpp"

namespace weft::stream {

class GroupCollectivePort final : public weft::detail::CollectivePort {
 public:
  /// `devices`: of the stream of each rank.
  GroupCollectivePort(StreamState& stream, std::vector<std::uint8_t> devices) noexcept
      : state_(stream), devices_(std::move(devices)) {}
  Status post_send(int peer, std::uint64_t tag, Bytes bytes, const SendOptions& options) override {
    SendOptions given = options;
    given.device = device_of(peer);
    return stream().with([&](auto& endpoint) { return endpoint.post_send(peer, tag, bytes, given); });
  }
  Status post_receive(int source, std::uint64_t tag, std::span<std::byte> buffer,
                      const ReceiveOptions& options) override {
    return stream().with([&](auto& endpoint) { return endpoint.post_receive(source, tag, buffer, options); });
  }
  Status post_am(int peer, RemoteCompletion remote, Bytes bytes,
                 const ActiveMessageOptions& options) override {
    const RemoteCompletion there = remote.on_device(device_of(peer));
    return stream().with([&](auto& endpoint) { return endpoint.post_am(peer, there, bytes, options); });
  }
  bool cancel(const ReceiveHandle& handle) noexcept override {
    return stream().with([&](auto& endpoint) { return endpoint.cancel(handle); });
  }
  bool cancel(const SendHandle& handle) noexcept override {
    return stream().with([&](auto& endpoint) { return endpoint.cancel(handle); });
  }
  std::size_t progress() noexcept override { return stream().progress(); }
  void wait(const weft::detail::WaitCondition& condition) noexcept override {
    static_cast<void>(stream().wait_condition(condition));
  }

 private:
  [[nodiscard]] std::uint8_t device_of(int rank) const noexcept {
    return devices_[static_cast<std::size_t>(rank)];
  }
  /// As the calling thread uses it: that of a queue has the gate already.
  [[nodiscard]] Stream& stream() const noexcept {
    return state_.gate.is_taken_by(weft::detail::ProcessThreads::mark()) ? state_.view_of_owner : state_.view;
  }
  StreamState& state_;
  const std::vector<std::uint8_t> devices_;
};

}  // namespace weft::stream
