// What networks of messages have in common above their devices. Sources: session_network.cpp.
#pragma once

#include "base/attributes.hpp"
#include "base/log.hpp"
#include "network/session/session_device.hpp"

#include <array>
#include <memory>
#include <mutex>

namespace weft::network::session {

/// The devices of a rank on a message network, by index.
using Devices = std::array<std::unique_ptr<SessionDevice>, detail::DevicePath::kMaxDevices>;

/// Bytes that a rank takes for each other one: before it is ever looked for, and as one with which a device
/// is connected, without the buffers of the transport.
inline constexpr std::size_t kBytesOfUnknownPeer = sizeof(std::atomic<Peer*>) + sizeof(std::atomic<Link*>);
inline constexpr std::size_t kBytesOfConnectedPeer = kBytesOfUnknownPeer + sizeof(Peer) + sizeof(Link);
static_assert(kBytesOfUnknownPeer <= 16);

class SessionNetwork : public Network {
 public:
  std::byte* allocate_memory(RegionName name, std::size_t size) override;
  RegionKeys register_memory(RegionName name, std::span<std::byte> memory, bool allocated) override;
  void release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept override;
  std::optional<detail::DirectWindow> map_memory(int, const RemoteMemory&) override { return std::nullopt; }
  std::unique_ptr<Port> open_port(std::uint32_t index, detail::DevicePath& path) override;
  void publish_handle(std::uint16_t id, std::uint16_t generation, HandleState state) noexcept override {
    board_.publish(id, generation, state);
  }
  [[nodiscard]] bool has_contacted_itself() noexcept override;
  void publish_closing(Closing how) noexcept override { peers_.publish_closing(how); }
  [[nodiscard]] Taker taker_of(int peer) noexcept override { return peers_.taker_of(peer); }
  void peer_departed(int peer) noexcept override { peers_.mark_left(peer, ""); }

 protected:
  /// Whether all credits are used from the start, or as many as bandwidth and delay have use for.
  enum class Credits : std::uint8_t { all, follow_delay };
  /// `message_bytes`: the longest message that ranks send each other. `held`: see Shared. Throws weft::Error.
  SessionNetwork(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes, base::LogModule module,
                 const NetworkIdentity& identity, std::size_t message_bytes, base::Attribute credits,
                 Credits how, std::uint32_t held);
  /// Waits until peers have taken what was accepted for them, and says goodbye. For the destructor, while the
  /// transports still work.
  void end() noexcept;

  /// Opens the transport of a device. Throws weft::Error.
  [[nodiscard]] virtual std::unique_ptr<Transport> make_transport(std::uint32_t index) = 0;
  [[nodiscard]] virtual Devices& devices() noexcept = 0;

  [[nodiscard]] bootstrap::Bootstrap& bootstrap() noexcept { return bootstrap_; }
  [[nodiscard]] const base::Log& log() const noexcept { return log_; }
  [[nodiscard]] Peers& peers() noexcept { return peers_; }
  [[nodiscard]] const Shared& shared() const noexcept { return shared_; }
  [[nodiscard]] Courier& courier() noexcept { return courier_; }

 private:
  bootstrap::Bootstrap& bootstrap_;
  const double drain_seconds_;
  const base::Log log_;
  Peers peers_;
  HandleBoard board_;
  Courier courier_;
  const Shared shared_;
  std::mutex mutex_;  // guards the pointers to devices; taken by set-up only
};

}  // namespace weft::network::session
