// A device: its port, its protocols, and the four things that are done with it: post, progress, wait, drain.
//
// Sources: post.cpp, progress.cpp, waiting.cpp, device_state.cpp (opening, draining).
#pragma once

#include "core/backlog/backlog.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/large_message.hpp"
#include "network/network.hpp"

#include <weft/detail/device_path.hpp>
#include <weft/detail/wait_condition.hpp>
#include <weft/options.hpp>
#include <weft/packet.hpp>
#include <weft/status.hpp>

#include <atomic>
#include <chrono>
#include <memory>

namespace weft::detail {

class RuntimeState;

class DeviceState final : private network::Sink, private core::PostRetry {
 public:
  DeviceState(RuntimeState& runtime, std::uint32_t index);
  /// Drains for at most the attribute drain_timeout and names what it drops.
  ~DeviceState();
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;

  [[nodiscard]] DevicePath& path() noexcept { return path_; }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] core::PacketPool& pool() noexcept;

  /// One serial endpoint, or any number of shared ones; throws weft::Error otherwise.
  void open_endpoint(bool exclusive);
  void close_endpoint(bool exclusive) noexcept;

  // post.cpp
  Status post_am(int peer, RemoteCompletion remote, Bytes bytes, const ActiveMessageOptions& options,
                 bool exclusive);
  Status post_packet(int peer, RemoteCompletion remote, Packet& packet, std::size_t size,
                     const ActiveMessageOptions& options, bool exclusive);
  void send_am(int peer, RemoteCompletion remote, Bytes bytes, const ActiveMessageOptions& options,
               bool exclusive);
  // progress.cpp
  std::size_t progress(bool exclusive) noexcept;
  // waiting.cpp
  void wait(const WaitCondition& condition, bool exclusive) noexcept;
  void quiesce() noexcept;

 private:
  struct Frame;  // one progress call of one thread
  static thread_local Frame* frames;

  // post.cpp
  void check_target(int peer, RemoteCompletion remote, const char* operation) const;
  Status attempt(int peer, RemoteCompletion remote, Bytes bytes, const ActiveMessageOptions& options,
                 bool from_handler, bool exclusive) noexcept;
  Status attempt_packet(int peer, RemoteCompletion remote, Packet& packet, std::size_t size,
                        const std::byte* source, const ActiveMessageOptions& options, bool from_handler,
                        bool exclusive) noexcept;
  Status accepted(network::SendResult result, int peer, const std::byte* data, std::size_t size,
                  const ActiveMessageOptions& options) noexcept;
  Status keep_for_retry(Status refusal, int peer, RemoteCompletion remote, Bytes bytes, Packet* packet,
                        const ActiveMessageOptions& options) noexcept;
  Status post_again(core::PendingPost& post, bool exclusive) noexcept override;
  // progress.cpp
  bool deliver(std::uint8_t channel, std::uint64_t word, Message& message) noexcept override;
  void hand_over(std::uint64_t word, Message& message) noexcept;
  bool deliver_rare(std::uint8_t channel, std::uint64_t word, Message& message) noexcept;
  void refuse(std::uint64_t word, int peer) noexcept;
  void reject(int peer, const char* what, std::uint64_t value) noexcept override;
  std::size_t work(bool exclusive) noexcept;
  // device_state.cpp
  void drain() noexcept;

  RuntimeState& runtime_;
  const std::uint32_t index_;
  DevicePath path_;
  std::unique_ptr<network::Port> port_;
  core::Context context_;
  core::LargeMessages large_messages_;
  core::Backlog backlog_;
  std::atomic<std::int32_t> endpoints_{0};  // -1: one that is serial
  std::uint32_t spin_;
  std::uint32_t yield_;
  std::chrono::nanoseconds park_;
  alignas(64) std::atomic<std::uint32_t> work_lock_{0};  // the number of the thread inside plus one
};

}  // namespace weft::detail
