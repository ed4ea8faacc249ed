// A sink that takes messages one by one, whatever they lie in.
#pragma once

#include "network/network.hpp"

#include <cstdint>

namespace weft::test {

class MessageSink : public network::Sink {
 public:
  void deliver(network::Batch& batch) noexcept final {
    batch.for_each([this](std::uint8_t channel, std::uint64_t word, Message& message) {
      return take(channel, word, message);
    });
  }

 protected:
  ~MessageSink() = default;
  /// Returns false when the message stays in the network.
  virtual bool take(std::uint8_t channel, std::uint64_t word, Message& message) noexcept = 0;
};

}  // namespace weft::test
