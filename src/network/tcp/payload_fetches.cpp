// Payloads of large messages: the receiver asks for them, their owner writes them from where they are, and
// the receiver reads them to where they belong.
#include "network/session/session_device.hpp"
#include "network/tcp/tcp_endpoint.hpp"

#include <algorithm>
#include <cstring>

namespace weft::network::tcp {

AccessResult TcpEndpoint::fetch(session::Link& link, const OfferedMemory& from, std::span<std::byte> to,
                                std::uint64_t token) noexcept {
  Connection& connection = *reinterpret_cast<Connection*>(link.address);
  if (connection.is_lost) return AccessResult::peer_left;
  if (!connection.socket || connection.is_broken) return AccessResult::no_slot;
  const auto free = std::find_if(fetches_.begin(), fetches_.end(),
                                 [](const Fetch& fetch) { return fetch.from == nullptr; });
  if (free == fetches_.end()) return AccessResult::no_slot;
  const auto index = static_cast<std::uint64_t>(free - fetches_.begin());
  const FetchRequest request{from.key, from.offset, to.size()};
  const Record record{sizeof request, RecordKind::fetch, {}, std::uint64_t{free->generation} << 32 | index};
  const auto result =
      connection.output.write(connection.socket.get(), Queue::bulk, record, bytes_of(request), {});
  if (!note(connection, result)) return AccessResult::no_slot;
  *free = {&connection, free->generation, token, to.data(), to.size()};
  return AccessResult::posted;
}

TcpEndpoint::Fetch* TcpEndpoint::find(const Connection& connection, std::uint64_t token) noexcept {
  const auto index = static_cast<std::uint32_t>(token);
  if (index >= fetches_.size()) return nullptr;
  Fetch& fetch = fetches_[index];
  return fetch.from == &connection && fetch.generation == token >> 32 ? &fetch : nullptr;
}

void TcpEndpoint::end(Fetch& fetch, Outcome outcome, session::SessionDevice& device) noexcept {
  const std::uint64_t token = fetch.token;
  fetch = {nullptr, fetch.generation + 1, 0, nullptr, 0};
  device.fetch_ended(token, outcome);
}

/// Takes a record of kind data: what has come of it is copied, and the rest will be read to its place.
/// Returns false when nothing more has come, or the connection is lost.
bool TcpEndpoint::land(Connection& connection, const Record& record,
                       session::SessionDevice& device) noexcept {
  Fetch* const fetch = find(connection, record.token);
  if (fetch == nullptr || record.bytes == 0 || record.bytes > fetch->left) {
    lose(connection, "it has sent " + std::to_string(record.bytes) + " bytes that were not asked for");
    return false;
  }
  connection.begin += sizeof record;
  const std::size_t here = std::min<std::size_t>(record.bytes, connection.end - connection.begin);
  std::memcpy(fetch->to, connection.chunk->bytes.get() + connection.begin, here);
  connection.begin += here;
  connection.landing_fetch = static_cast<std::uint32_t>(record.token);
  connection.landing = {fetch->to + here, record.bytes - here, padded(record.bytes) - record.bytes};
  fetch->to += record.bytes;
  fetch->left -= record.bytes;
  if (connection.landing.left == 0) {
    end_piece(connection, device);
    return true;
  }
  // Nothing is left in the chunk. The next record shall begin at a multiple of its alignment, behind the
  // padding of this one.
  const std::size_t base =
      connection.chunk->users.load(std::memory_order_acquire) == 1 ? 0 : padded(connection.end);
  const std::size_t place = base + shift_of(connection.landing);
  if (place <= kChunkBytes) connection.begin = connection.end = place;
  return false;
}

void TcpEndpoint::end_piece(Connection& connection, session::SessionDevice& device) noexcept {
  Fetch& fetch = fetches_[connection.landing_fetch];
  if (fetch.from == &connection && fetch.left == 0) end(fetch, Outcome::ok, device);
}

/// Takes a record of kind fetch. Returns false when the peer asks for more at a time than it may.
bool TcpEndpoint::begin_serving(Connection& connection, const Record& record) noexcept {
  if (connection.servings.size() >= kMostFetches) return false;
  FetchRequest request{};
  std::memcpy(&request, connection.chunk->bytes.get() + connection.begin + sizeof record, sizeof request);
  connection.servings.push_back({request.key, request.offset, request.length, record.token});
  if (connection.servings.size() == 1 && connection.output.is_empty()) serve_on(connection);
  if (!connection.is_writing && !connection.servings.empty() && connection.is_open()) {
    connection.is_writing = true;
    writing_.push_back(&connection);
  }
  return true;
}

/// Writes pieces as long as the socket takes them whole.
void TcpEndpoint::serve_on(Connection& connection) noexcept {
  while (!connection.servings.empty() && !connection.is_broken && connection.output.is_empty()) {
    Serving& serving = connection.servings.front();
    connection.piece = std::min<std::size_t>(serving.left, kLongestPiece);
    auto result = Output::Result::full;
    bool is_inside = false;
    const bool is_offered = context_.offers.visit(serving.key, [&](Bytes memory) {
      is_inside = connection.piece != 0 && serving.offset <= memory.size() &&
                  serving.left <= memory.size() - serving.offset;
      if (!is_inside) return;
      const Record record{static_cast<std::uint32_t>(connection.piece), RecordKind::data, {}, serving.token};
      result = connection.output.write_piece(connection.socket.get(), record,
                                             memory.subspan(serving.offset, connection.piece));
    });
    if (!is_offered || !is_inside) {
      const Record record{0, RecordKind::refused, {}, serving.token};
      connection.piece = 0;
      connection.servings.erase(connection.servings.begin());
      static_cast<void>(
          note(connection, connection.output.write(connection.socket.get(), Queue::bulk, record, {}, {})));
      continue;
    }
    if (!note(connection, result)) return;  // the rest of the piece is written by flush()
    serving.offset += connection.piece;
    serving.left -= connection.piece;
    if (serving.left == 0) connection.servings.erase(connection.servings.begin());
  }
}

/// Writes what is left: of a piece while its memory is still offered, then messages, then further pieces.
/// Result::full: not all.
Output::Result TcpEndpoint::flush(Connection& connection) noexcept {
  auto result = Output::Result::taken;
  if (connection.output.has_piece()) {
    Serving& serving = connection.servings.front();
    const bool is_offered = context_.offers.visit(
        serving.key, [&](Bytes) { result = connection.output.flush(connection.socket.get()); });
    if (!is_offered) {
      lose(connection, "it has given up a payload of which it had asked for more");
      return Output::Result::failed;
    }
    if (!connection.output.has_piece()) {
      serving.offset += connection.piece;
      serving.left -= connection.piece;
      if (serving.left == 0) connection.servings.erase(connection.servings.begin());
    }
  } else {
    result = connection.output.flush(connection.socket.get());
  }
  if (result == Output::Result::failed) {
    static_cast<void>(note(connection, result));
    return result;
  }
  if (result == Output::Result::taken) serve_on(connection);
  return connection.output.is_empty() && connection.servings.empty() ? Output::Result::taken
                                                                     : Output::Result::full;
}

}  // namespace weft::network::tcp
