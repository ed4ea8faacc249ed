// The sending side of the port tcp: a connection to each rank to which there is something to send.
#pragma once

#include <weft/parcel/parcelport.hpp>

#include <memory>
#include <string>
#include <vector>

#include "sockets/addresses.hpp"
#include "study/parcelports/tcp/tcp_connections.hpp"
#include "study/parcelports/tcp/tcp_part.hpp"
#include "study/parcelports/tcp/tcp_sockets.hpp"

namespace weft::parcel::ports::tcp {

/// A message is one gather write: header, sizes of the chunks, head, chunks. Used by those that run the
/// io_context, one at a time, unless said otherwise.
class FrameWriter {
 public:
  /// `endpoints`: of all ranks. `contact`: of this one.
  FrameWriter(PortParts& port, const Contact& contact, std::vector<sockets::Endpoints> endpoints);

  /// Takes the message over, or returns false: push-back. Any thread.
  [[nodiscard]] bool enqueue(int peer, std::unique_ptr<OutgoingMessage>& message);
  /// Says to all that nothing follows.
  void leave();
  [[nodiscard]] bool has_queued() const;
  /// The rank has failed: what waits for it is lost.
  void close(int peer);
  void close_all();

 private:
  void connect(const std::shared_ptr<Outgoing>& connection);
  /// Writes the first frame of the queue, and then those behind it. With the connection's mutex.
  void write(const std::shared_ptr<Outgoing>& connection);
  void written(const std::shared_ptr<Outgoing>& connection);
  void cannot_reach(int peer, const std::string& fault);

  PortParts& port_;
  const Contact& contact_;
  const std::vector<sockets::Endpoints> endpoints_;  // by rank
  std::vector<std::shared_ptr<Outgoing>> connections_;
};

}  // namespace weft::parcel::ports::tcp
