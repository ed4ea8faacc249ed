// Ranks connected by TCP sockets.
#pragma once

#include "network/session/session_network.hpp"
#include "network/tcp/tcp_endpoint.hpp"

#include <memory>
#include <vector>

namespace weft::network::tcp {

class TcpNetwork final : public session::SessionNetwork {
 public:
  /// `copier` keeps payloads that the program keeps; it must outlive the network. Throws weft::Error.
  TcpNetwork(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
             detail::PayloadLender& copier, const Network::PacketMemory& packets);
  ~TcpNetwork() override { end(); }

  [[nodiscard]] const char* name() const noexcept override { return "tcp"; }
  [[nodiscard]] Capabilities capabilities() const noexcept override;
  [[nodiscard]] PacketMemory packet_memory() const noexcept override { return packets_.layout(); }
  RegionKeys register_memory(RegionName name, std::span<std::byte> memory, bool allocated) override;
  void release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept override;
  std::size_t reclaim_packets(std::span<std::uint32_t> indices) noexcept override {
    return packets_.reclaim(indices);
  }

 private:
  [[nodiscard]] std::unique_ptr<session::Transport> make_transport(std::uint32_t index) override {
    return std::make_unique<TcpEndpoint>(context_, index);
  }
  [[nodiscard]] session::Devices& devices() noexcept override { return devices_; }

  const std::size_t inline_bytes_;
  session::PacketMemory packets_;
  const std::vector<Interface> interfaces_;
  const Membership membership_;
  Acceptor acceptor_;
  Offers offers_;
  NamedMemory regions_;
  const EndpointContext context_;
  session::Devices devices_;
};

}  // namespace weft::network::tcp
