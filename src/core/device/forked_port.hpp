// Replaces the network of a device in a process that fork() has made.
#pragma once

#include "base/fork_watch.hpp"
#include "network/network.hpp"

namespace weft::detail {

/// A forked child uses weft by mistake: calls that would send, receive or wait report that and end the
/// process. Calls that only query, as destructors do, find that nothing is in progress.
class ForkedPort final : public network::Port {
 public:
  /// Never destroyed.
  static ForkedPort& instance() noexcept {
    static ForkedPort& port = *new ForkedPort;
    return port;
  }

  [[nodiscard]] const network::Capabilities& capabilities() const noexcept override { return capabilities_; }
  network::SendResult send(const network::Outgoing&, Bytes) noexcept override { end("post"); }
  network::SendResult send_packet(const network::Outgoing&, std::uint32_t, std::size_t) noexcept override {
    end("post");
  }
  bool read(int, std::uint64_t, std::span<std::byte>) noexcept override { end("progress"); }
  network::AccessResult put(int, const network::RemoteMemory&, Bytes, const std::uint64_t*,
                            std::uint64_t) noexcept override {
    end("put");
  }
  network::AccessResult get(int, const network::RemoteMemory&, std::span<std::byte>,
                            std::uint64_t) noexcept override {
    end("get");
  }
  network::AccessResult atomic(int, const network::RemoteMemory&, const network::NativeAtomic&, std::byte*,
                               std::uint64_t) noexcept override {
    end("atomic operation");
  }
  network::AccessResult locate(int, const network::RemoteMemory&, std::size_t,
                               std::byte*&) noexcept override {
    end("atomic operation");
  }
  [[nodiscard]] bool has_left(int) noexcept override { end("post"); }
  bool reclaim(int) noexcept override { return true; }
  std::size_t poll(network::Sink&, std::size_t) noexcept override { end("progress"); }
  bool prepare_park() noexcept override { end("wait"); }
  [[nodiscard]] std::uint32_t park_token() const noexcept override { end("wait"); }
  bool park(std::uint32_t, std::uint32_t, std::chrono::nanoseconds) noexcept override { end("wait"); }
  void wake(std::uint32_t) noexcept override {}
  [[nodiscard]] bool has_parked() const noexcept override { return false; }
  void quiesce() noexcept override {}
  [[nodiscard]] bool drained() noexcept override { return true; }
  [[nodiscard]] std::string undelivered() override { return {}; }

 private:
  ForkedPort() = default;
  [[noreturn]] static void end(const char* operation) noexcept { base::end_forked_copy(operation); }

  network::Capabilities capabilities_{};
};

}  // namespace weft::detail
