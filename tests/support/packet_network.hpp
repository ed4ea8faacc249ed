// A network that has packets and no peer.
#pragma once

#include "support/fake_network.hpp"

#include <cstdint>
#include <vector>

namespace weft::test {

class PacketNetwork final : public FakeNetwork {
 public:
  explicit PacketNetwork(std::uint32_t count) : memory_(count * kStride), count_(count) {}
  [[nodiscard]] PacketMemory packet_memory() const noexcept override {
    return {const_cast<std::byte*>(memory_.data()), kStride, count_, kStride};
  }

 private:
  static constexpr std::size_t kStride = 64;
  std::vector<std::byte> memory_;
  const std::uint32_t count_;
};

}  // namespace weft::test
