// The two directions of the port tcp between two ranks.
#pragma once

#include <weft/parcel/parcelport.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "study/parcelports/connections/arriving_array.hpp"
#include "study/parcelports/tcp/asio.hpp"
#include "study/parcelports/tcp/tcp_frame.hpp"

namespace weft::parcel::ports::tcp {

/// The connection over which this rank sends to another.
struct Outgoing : std::enable_shared_from_this<Outgoing> {
  Outgoing(asio::io_context& context, int to) : socket(context), peer(to) {}
  struct Frame {
    FrameHeader header;
    std::vector<std::uint64_t> sizes;
    std::unique_ptr<OutgoingMessage> message;  // null: the rank leaves
  };
  asio::ip::tcp::socket socket;
  const int peer;
  std::mutex mutex;
  std::deque<Frame> queue;  // the first is being written
  bool is_connecting = false;
  bool is_connected = false;
  bool is_closed = false;  // the rank has failed
  Challenge challenge;
  Greeting greeting;
  Proof answer{};
};

/// A connection over which another rank sends to this one.
struct Incoming : std::enable_shared_from_this<Incoming> {
  explicit Incoming(asio::ip::tcp::socket&& accepted) : socket(std::move(accepted)) {}
  struct Whole final : IncomingMessage {
    std::vector<std::byte> bytes;
  };
  asio::ip::tcp::socket socket;
  int source = -1;
  bool has_begun = false;  // a frame has come; before that a peer may give it up, and connect anew
  bool has_left = false;
  Challenge challenge;
  Greeting greeting;
  Proof answer{};
  FrameHeader header;
  std::unique_ptr<Whole> message;
  ArrivingArray<std::uint64_t> sizes;  // of the message
  ArrivingArray<std::byte> head;
  bool is_wanted = true;            // its chunks
  std::vector<std::byte> unwanted;  // where they go otherwise
};

}  // namespace weft::parcel::ports::tcp
