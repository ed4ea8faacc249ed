#include "bootstrap/relay/root.hpp"

#include <cstring>

#include "bootstrap/relay/relay.hpp"

namespace weft::bootstrap::relay {

RemoteHost::RemoteHost(local::Server& server, int host, sockets::Greeted agent)
    : server_(server), host_(host), link_(std::move(agent), kLongestFrame) {
  server_.connect(*this);
}

RemoteHost::~RemoteHost() { server_.disconnect(*this); }

void RemoteHost::serve() {
  link_.flush();
  link_.receive([this](const FrameHeader& frame, Bytes& payload) { return take(frame, payload); });
}

bool RemoteHost::take(const FrameHeader& frame, Bytes& payload) {
  switch (static_cast<FrameKind>(frame.kind)) {
    case FrameKind::message: {
      local::Header header;
      if (payload.size() < sizeof header) break;
      std::memcpy(&header, payload.data(), sizeof header);
      if (header.length != payload.size() - sizeof header) break;
      payload.erase(payload.begin(), payload.begin() + sizeof header);
      server_.receive(*this, frame.stream, header, std::move(payload));
      return true;
    }
    case FrameKind::closed:
      server_.close(*this, frame.stream);
      return true;
    case FrameKind::rank_ended:
      if (!server_.is_of(*this, frame.argument)) break;
      ended_.insert(frame.argument);
      server_.rank_ended(frame.argument, {reinterpret_cast<const char*>(payload.data()), payload.size()});
      return true;
    case FrameKind::departed:
    case FrameKind::end_rank:
      break;
  }
  link_.end("the host has sent a frame of kind " + std::to_string(frame.kind) + " that cannot be");
  return false;
}

void RemoteHost::answer(std::uint32_t stream, const local::Header& header, const Bytes* payload) {
  link_.send({number_of(FrameKind::message), stream, 0, 0}, std::as_bytes(std::span(&header, 1)),
             payload == nullptr ? std::span<const std::byte>() : *payload);
}

void RemoteHost::close(std::uint32_t stream) { link_.send({number_of(FrameKind::closed), stream, 0, 0}); }

void RemoteHost::departed(std::uint32_t instance, int rank, bool has_failed) {
  const std::byte how{has_failed ? std::uint8_t{1} : std::uint8_t{0}};
  link_.send({number_of(FrameKind::departed), instance, rank, 0}, {&how, 1});
}

void RemoteHost::end_rank(int rank, const std::string& why) {
  link_.send({number_of(FrameKind::end_rank), 0, rank, 0}, std::as_bytes(std::span(why)));
}

}  // namespace weft::bootstrap::relay
