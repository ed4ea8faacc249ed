#include "study/parcelports/tcp/tcp_writer.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <mutex>
#include <utility>

#include "study/parcelports/tcp/tcp_connector.hpp"

namespace weft::parcel::ports::tcp {

namespace {

// Heads that lie in the queue of one connection, beyond which the port pushes back.
constexpr std::size_t kMostQueued = 64;

}  // namespace

FrameWriter::FrameWriter(PortParts& port, const Contact& contact, std::vector<sockets::Endpoints> endpoints)
    : port_(port), contact_(contact), endpoints_(std::move(endpoints)) {
  for (int rank = 0; rank < port.size(); ++rank)
    connections_.push_back(std::make_shared<Outgoing>(port.context, rank));
}

bool FrameWriter::enqueue(int peer, std::unique_ptr<OutgoingMessage>& message) {
  const auto& connection = connections_[static_cast<std::size_t>(peer)];
  std::unique_lock lock(connection->mutex);
  if (connection->is_closed) [[unlikely]] {
    lock.unlock();
    port_.report_lost(std::move(message));
    return true;
  }
  if (connection->queue.size() >= kMostQueued) return false;
  Outgoing::Frame frame;
  frame.header.head_size = message->head.size();
  frame.header.chunks = message->chunks.size();
  for (const Bytes chunk : message->chunks) frame.sizes.push_back(chunk.size());
  frame.message = std::move(message);
  connection->queue.push_back(std::move(frame));
  if (connection->is_connected && connection->queue.size() == 1)
    asio::post(port_.context, [this, connection] {
      const std::lock_guard guard(connection->mutex);
      if (!connection->is_closed) write(connection);
    });
  if (!connection->is_connected && !std::exchange(connection->is_connecting, true))
    asio::post(port_.context, [this, connection] { connect(connection); });
  return true;
}

void FrameWriter::connect(const std::shared_ptr<Outgoing>& connection) {
  const sockets::Endpoints& there = endpoints_[static_cast<std::size_t>(connection->peer)];
  const auto done = [this, connection](const std::string& fault) {
    if (!fault.empty()) return cannot_reach(connection->peer, fault);
    const std::lock_guard lock(connection->mutex);
    if (connection->is_closed) return;
    connection->is_connected = true;
    if (!connection->queue.empty()) write(connection);
  };
  std::make_shared<Connector>(port_.context, connection, contact_.ways_to(there), there.port, port_.rank(),
                              port_.secret, done)
      ->start();
}

void FrameWriter::cannot_reach(int peer, const std::string& fault) {
  if (!port_.is_stopping() && !port_.has_failed(peer))
    std::fprintf(stderr, "weft: rank %d: parcel: rank %d cannot be reached: %s\n", port_.rank(), peer,
                 fault.c_str());
  port_.fail(peer);
}

void FrameWriter::write(const std::shared_ptr<Outgoing>& connection) {
  const Outgoing::Frame& frame = connection->queue.front();
  std::vector<asio::const_buffer> parts{asio::buffer(&frame.header, sizeof frame.header)};
  if (!frame.sizes.empty()) parts.push_back(asio::buffer(frame.sizes));
  if (frame.message) {
    parts.push_back(asio::buffer(frame.message->head.data(), frame.message->head.size()));
    for (const Bytes chunk : frame.message->chunks) parts.push_back(asio::buffer(chunk.data(), chunk.size()));
  }
  asio::async_write(connection->socket, parts,
                    [this, connection](const asio::error_code& broken, std::size_t) {
                      if (broken) return port_.fail(connection->peer);
                      written(connection);
                    });
}

void FrameWriter::written(const std::shared_ptr<Outgoing>& connection) {
  std::unique_lock lock(connection->mutex);
  if (connection->is_closed) return;  // what it was is reported already
  std::unique_ptr<OutgoingMessage> sent = std::move(connection->queue.front().message);
  connection->queue.pop_front();
  if (!connection->queue.empty()) write(connection);
  lock.unlock();
  if (sent && sent->peer >= 0) port_.receiver->sent(std::move(sent), true);
}

void FrameWriter::leave() {
  for (auto& connection : connections_) {
    const std::lock_guard lock(connection->mutex);
    if (connection->is_connected) connection->queue.push_back({});
    if (connection->queue.size() == 1 && connection->is_connected) write(connection);
  }
}

bool FrameWriter::has_queued() const {
  return std::any_of(connections_.begin(), connections_.end(), [](const auto& connection) {
    const std::lock_guard lock(connection->mutex);
    return !connection->queue.empty();
  });
}

void FrameWriter::close(int peer) {
  const auto& connection = connections_[static_cast<std::size_t>(peer)];
  std::deque<Outgoing::Frame> unsent;
  {
    const std::lock_guard lock(connection->mutex);
    connection->is_closed = true;
    connection->is_connected = false;
    unsent.swap(connection->queue);
    asio::error_code ignored;
    connection->socket.close(ignored);
  }
  for (Outgoing::Frame& frame : unsent) port_.report_lost(std::move(frame.message));
}

void FrameWriter::close_all() {
  asio::error_code ignored;
  for (auto& connection : connections_) connection->socket.close(ignored);
}

}  // namespace weft::parcel::ports::tcp
