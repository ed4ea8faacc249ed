#include "study/parcelports/tcp/tcp_reader.hpp"

#include <weft/parcel/detail/message_limits.hpp>

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>

namespace weft::parcel::ports::tcp {

namespace {

constexpr std::size_t kCopied = 2048;
constexpr std::size_t kSkipped = 65536;

}  // namespace

FrameReader::FrameReader(PortParts& port, Contact& contact)
    : port_(port),
      acceptor_(port.context, contact.listener,
                std::max<std::size_t>(64, 2 * static_cast<std::size_t>(port.size()))) {}

void FrameReader::start() {
  acceptor_.start([this](Socket&& socket) { greet(std::make_shared<Incoming>(std::move(socket))); },
                  [this](const std::string& why) {
                    std::fprintf(stderr,
                                 "weft: rank %d: parcel: connections of peers have to wait: %s (ulimit -n)\n",
                                 port_.rank(), why.c_str());
                  });
}

void FrameReader::close(int peer) {
  asio::error_code ignored;
  for (const auto& each : connections_)
    if (each->source == peer) each->socket.close(ignored);
}

void FrameReader::close_all() {
  acceptor_.stop();
  asio::error_code ignored;
  for (auto& connection : connections_) connection->socket.close(ignored);
}

void FrameReader::greet(const std::shared_ptr<Incoming>& connection) {
  acceptor_.add(std::shared_ptr<Socket>(connection, &connection->socket));
  ::randombytes_buf(connection->challenge.nonce.data(), connection->challenge.nonce.size());
  asio::async_write(connection->socket, asio::buffer(&connection->challenge, sizeof connection->challenge),
                    [](const asio::error_code&, std::size_t) {});
  asio::async_read(connection->socket, asio::buffer(&connection->greeting, sizeof connection->greeting),
                   [this, connection](const asio::error_code& broken, std::size_t) {
                     const bool is_known = !broken && is_of_job(*connection);
                     acceptor_.remove(connection->socket, is_known);
                     if (!is_known) return connection->socket.close();
                     connection->source = connection->greeting.rank;
                     if (port_.is_known_failed(connection->source)) return connection->socket.close();
                     connections_.push_back(connection);
                     prove(connection);
                   });
}

bool FrameReader::is_of_job(const Incoming& connection) const {
  const Greeting& greeting = connection.greeting;
  return greeting.magic == kMagic && greeting.to == port_.rank() && greeting.rank >= 0 &&
         greeting.rank < port_.size() &&
         are_equal(greeting.proof, proof_of('c', port_.secret, connection.challenge, greeting));
}

void FrameReader::prove(const std::shared_ptr<Incoming>& connection) {
  connection->answer = proof_of('l', port_.secret, connection->challenge, connection->greeting);
  asio::async_write(connection->socket, asio::buffer(connection->answer),
                    [this, connection](const asio::error_code& broken, std::size_t) {
                      if (!broken) read_header(connection);
                    });
}

void FrameReader::read_header(const std::shared_ptr<Incoming>& connection) {
  asio::async_read(connection->socket, asio::buffer(&connection->header, sizeof connection->header),
                   [this, connection](const asio::error_code& broken, std::size_t) {
                     if (broken) {
                       if (connection->has_begun && !connection->has_left) port_.fail(connection->source);
                       return;
                     }
                     connection->has_begun = true;
                     const FrameHeader& header = connection->header;
                     if (header.magic != kMagic || header.head_size > detail::kMostHead ||
                         header.chunks > detail::kMostChunks)
                       return refuse(connection, "a frame has a header that no rank writes");
                     connection->has_left = header.head_size == 0;
                     if (connection->has_left) return read_header(connection);
                     read_head(connection);
                   });
}

void FrameReader::read_head(const std::shared_ptr<Incoming>& connection) {
  connection->message = std::make_unique<Incoming::Whole>();
  Incoming::Whole& message = *connection->message;
  message.source = connection->source;
  connection->sizes.expect(message.chunk_sizes, connection->header.chunks);
  connection->head.expect(message.bytes, connection->header.head_size);
  read_parts(connection);
}

void FrameReader::read_parts(const std::shared_ptr<Incoming>& connection) {
  std::array<asio::mutable_buffer, 2> parts;
  try {
    const MutableBytes sizes = connection->sizes.room();
    connection->sizes.came(sizes.size());
    const MutableBytes head = connection->sizes.is_complete() ? connection->head.room() : MutableBytes{};
    connection->head.came(head.size());
    parts = {asio::buffer(sizes.data(), sizes.size()), asio::buffer(head.data(), head.size())};
  } catch (const std::bad_alloc&) {
    return refuse(connection, "there is no memory for what it announces");
  }
  asio::async_read(connection->socket, parts,
                   [this, connection](const asio::error_code& broken, std::size_t) {
                     if (broken) return port_.fail(connection->source);
                     if (!connection->head.is_complete()) return read_parts(connection);
                     take_head(connection);
                   });
}

void FrameReader::take_head(const std::shared_ptr<Incoming>& connection) {
  Incoming::Whole& whole = *connection->message;
  whole.head = whole.bytes;
  if (whole.chunk_sizes.empty()) {
    if (whole.head.size() <= kCopied)
      port_.receiver->on_small(whole.source, whole.head);
    else
      port_.receiver->arrived(std::move(connection->message));
    return read_header(connection);
  }
  connection->is_wanted = port_.receiver->place(whole);
  if (connection->is_wanted)
    read_chunks(connection);
  else
    skip_chunks(connection, 0, whole.chunk_sizes[0]);
}

void FrameReader::read_chunks(const std::shared_ptr<Incoming>& connection) {
  std::vector<asio::mutable_buffer> parts;
  for (const MutableBytes landing : connection->message->landings)
    parts.push_back(asio::buffer(landing.data(), landing.size()));
  asio::async_read(connection->socket, parts,
                   [this, connection](const asio::error_code& broken, std::size_t) {
                     if (broken) {
                       // First: whoever waits is told that the rank has failed.
                       port_.fail(connection->source);
                       if (connection->message) port_.receiver->lost(std::move(connection->message));
                       return;
                     }
                     port_.receiver->arrived(std::move(connection->message));
                     read_header(connection);
                   });
}

void FrameReader::skip_chunks(const std::shared_ptr<Incoming>& connection, std::size_t chunk,
                              std::uint64_t left) {
  const std::vector<std::uint64_t>& sizes = connection->message->chunk_sizes;
  while (left == 0 && ++chunk < sizes.size()) left = sizes[chunk];
  if (left == 0) return read_header(connection);
  connection->unwanted.resize(kSkipped);
  const std::size_t now = std::min<std::uint64_t>(left, kSkipped);
  asio::async_read(connection->socket, asio::buffer(connection->unwanted, now),
                   [this, connection, chunk, left, now](const asio::error_code& broken, std::size_t) {
                     if (broken) return port_.fail(connection->source);
                     skip_chunks(connection, chunk, left - now);
                   });
}

void FrameReader::refuse(const std::shared_ptr<Incoming>& connection, const char* why) {
  std::fprintf(stderr, "weft: rank %d: parcel: the connection from rank %d is closed: %s\n", port_.rank(),
               connection->source, why);
  connection->socket.close();
  port_.fail(connection->source);
}

}  // namespace weft::parcel::ports::tcp
