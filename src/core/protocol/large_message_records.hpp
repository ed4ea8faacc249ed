// The records behind LargeMessages.
#pragma once

#include "core/protocol/large_message.hpp"

namespace weft::core {

/// An own large message until its buffer is free again.
struct LargeMessages::Request {
  enum class State : std::uint8_t { free, announced, streaming, ended };
  Request* next = nullptr;
  std::atomic<State> state{State::free};
  std::atomic<std::uint32_t> generation{1};
  std::uint32_t index = 0;
  int peer = 0;
  std::uint8_t device = 0;
  std::uint32_t tag = 0;
  const std::byte* data = nullptr;
  std::size_t size = 0;
  Completion* completion = nullptr;
  void* user_data = nullptr;
  // while streaming:
  RequestName transfer{};
  std::size_t sent = 0;
  Packet packet;  // filled but not accepted by the network yet
  std::size_t packet_size = 0;
};

/// A large message of a peer until it is delivered and answered.
struct LargeMessages::Incoming {
  enum class State : std::uint8_t { free, needs_memory, reading, asking, receiving, answering };
  Incoming* next = nullptr;
  std::atomic<State> state{State::free};
  std::atomic<std::uint32_t> generation{1};
  std::uint32_t index = 0;
  int peer = 0;
  LargeMessage announcement{};
  std::uint64_t word = 0;
  std::byte* buffer = nullptr;
  PayloadOwner* owner = nullptr;
  std::size_t read = 0;
  std::atomic<std::size_t> received{0};
};

}  // namespace weft::core
