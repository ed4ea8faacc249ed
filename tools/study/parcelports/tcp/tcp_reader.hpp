// The receiving side of the port tcp: the connections over which other ranks send.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "study/parcelports/tcp/tcp_acceptor.hpp"
#include "study/parcelports/tcp/tcp_connections.hpp"
#include "study/parcelports/tcp/tcp_part.hpp"
#include "study/parcelports/tcp/tcp_sockets.hpp"

namespace weft::parcel::ports::tcp {

/// Used by those that run the io_context, one at a time.
class FrameReader {
 public:
  /// Takes over the sockets at which `contact` listens.
  FrameReader(PortParts& port, Contact& contact);

  void start();
  /// The rank has failed: who reads from it is told, and reports what it has begun.
  void close(int peer);
  void close_all();

 private:
  using Socket = asio::ip::tcp::socket;

  // Connecting: both sides prove that they know the job's secret.
  void greet(const std::shared_ptr<Incoming>& connection);
  [[nodiscard]] bool is_of_job(const Incoming& connection) const;
  void prove(const std::shared_ptr<Incoming>& connection);

  void read_header(const std::shared_ptr<Incoming>& connection);
  void read_head(const std::shared_ptr<Incoming>& connection);
  /// Sizes and head, mostly by one read; what is long comes in pieces.
  void read_parts(const std::shared_ptr<Incoming>& connection);
  void take_head(const std::shared_ptr<Incoming>& connection);
  void read_chunks(const std::shared_ptr<Incoming>& connection);
  /// Reads `left` bytes of a chunk that nobody wants, and then those behind it.
  void skip_chunks(const std::shared_ptr<Incoming>& connection, std::size_t chunk, std::uint64_t left);
  void refuse(const std::shared_ptr<Incoming>& connection, const char* why);

  PortParts& port_;
  Acceptor acceptor_;
  std::vector<std::shared_ptr<Incoming>> connections_;
};

}  // namespace weft::parcel::ports::tcp
