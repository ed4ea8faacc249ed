#include "network/tcp/connection/piece_sender.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weft::network::tcp {

AccessResult PieceSender::request(Connection& connection, RecordKind kind, const FetchRequest& wanted,
                                  std::byte* to, std::uint64_t token) noexcept {
  if (connection.is_lost) return AccessResult::peer_left;
  if (!connection.socket || connection.is_broken) return AccessResult::no_slot;
  Transfer* const free = transfers_.find_free();
  if (free == nullptr) return AccessResult::no_slot;
  const Record record{sizeof wanted, kind, {}, transfers_.wire_token(*free)};
  const auto result =
      connection.output.write(connection.socket.get(), Queue::bulk, record, bytes_of(wanted), {});
  if (!owner_.note(connection, result)) return AccessResult::no_slot;
  *free = {&connection, free->generation, token, to, wanted.length, kind == RecordKind::get};
  return AccessResult::posted;
}

AccessResult PieceSender::put(Connection& connection, const RemoteMemory& to, Bytes from,
                              std::uint64_t token) noexcept {
  if (connection.is_lost) return AccessResult::peer_left;
  if (!connection.socket || connection.is_broken) return AccessResult::no_slot;
  Transfer* const free = transfers_.find_free();
  if (free == nullptr) return AccessResult::no_slot;
  *free = {&connection, free->generation, token, nullptr, from.size(), false};
  serve(connection,
        {nullptr, from.data(), key_of(to.region), to.offset, from.size(), transfers_.wire_token(*free)});
  return AccessResult::posted;
}

bool PieceSender::begin_serving(Connection& connection, const Record& record) noexcept {
  const auto asked = std::count_if(connection.servings.begin(), connection.servings.end(),
                                   [](const Serving& each) { return each.table != nullptr; });
  if (static_cast<std::size_t>(asked) >= TransferTable::kMost) return false;
  FetchRequest wanted{};
  std::memcpy(&wanted, connection.chunk->bytes.get() + connection.begin + sizeof record, sizeof wanted);
  serve(connection, {record.kind == RecordKind::get ? &regions_ : &offers_, nullptr, wanted.key,
                     wanted.offset, wanted.length, record.token, record.kind == RecordKind::get});
  return true;
}

void PieceSender::serve(Connection& connection, const Serving& serving) noexcept {
  connection.servings.push_back(serving);  // has the room
  if (connection.servings.size() == 1 && connection.output.is_empty()) serve_on(connection);
  if (!connection.servings.empty() && connection.is_open()) owner_.write_later(connection);
}

/// Begins the next piece. `is_allowed` becomes false when the peer may not have it.
Output::Result PieceSender::begin_piece(Connection& connection, Serving& serving, bool& is_allowed) noexcept {
  const int socket = connection.socket.get();
  const std::size_t size = connection.piece;
  if (serving.table == nullptr) {
    is_allowed = true;
    const PutHead head{serving.key, serving.offset, serving.left - size, 0};
    const Record record{static_cast<std::uint32_t>(sizeof head + size), RecordKind::put, {}, serving.token};
    return connection.output.write_piece(socket, record, bytes_of(head), {serving.bytes, size});
  }
  auto result = Output::Result::full;
  serving.table->visit(serving.key, [&](std::span<const std::byte> memory) {
    is_allowed = !serving.is_unreadable && size != 0 && serving.offset <= memory.size() &&
                 serving.left <= memory.size() - serving.offset;
    if (!is_allowed) return;
    const Record record{static_cast<std::uint32_t>(size), RecordKind::data, {}, serving.token};
    result = connection.output.write_piece(socket, record, {}, memory.subspan(serving.offset, size));
    serving.is_unreadable = result == Output::Result::failed && errno == EFAULT;
  });
  return serving.is_unreadable && serving.is_get ? write_zeros(connection) : result;
}

/// Ends the piece of a get whose memory the program has released or made unreadable: the peer has been told
/// how many bytes come, and is told behind them that they are not those of the region.
Output::Result PieceSender::write_zeros(Connection& connection) noexcept {
  connection.output.replace_piece();
  return connection.output.flush(connection.socket.get());
}

/// Writes on what has been begun, the piece of the first serving included. Returns false when memory that is
/// not of a get has been withdrawn.
bool PieceSender::write_begun(Connection& connection, Output::Result& result) noexcept {
  const auto write_on = [&] { result = connection.output.flush(connection.socket.get()); };
  const bool has_piece = connection.output.has_piece();
  Serving* const serving = has_piece ? &connection.servings.front() : nullptr;
  if (serving == nullptr || serving->table == nullptr || serving->is_unreadable) {
    write_on();
  } else {
    const bool is_offered = serving->table->visit(serving->key, [&](Bytes) {
      write_on();
      serving->is_unreadable = result == Output::Result::failed && errno == EFAULT;
    });
    if (!is_offered && !serving->is_get) return false;
    if (!is_offered) serving->is_unreadable = true;
    if (serving->is_unreadable && serving->is_get) result = write_zeros(connection);
  }
  if (has_piece && !connection.output.has_piece()) note_piece(connection);
  return true;
}

/// The piece of the first serving is written whole.
void PieceSender::note_piece(Connection& connection) noexcept {
  Serving& serving = connection.servings.front();
  if (serving.table == nullptr) {
    serving.bytes += connection.piece;
    if (Transfer* const put = transfers_.find(connection, serving.token)) put->left -= connection.piece;
  }
  serving.offset += connection.piece;
  serving.left -= connection.piece;
  if (serving.left != 0) return;
  const Serving ended = serving;
  connection.servings.erase(connection.servings.begin());
  if (ended.is_get)
    answer(connection, ended.is_unreadable ? RecordKind::refused : RecordKind::get_completed, ended.token);
}

void PieceSender::answer(Connection& connection, RecordKind kind, std::uint64_t token) noexcept {
  const auto result = connection.output.write_answer(connection.socket.get(), {0, kind, {}, token});
  if (!owner_.note(connection, result) && result == Output::Result::full)
    owner_.lose(connection, "it has more accesses under way than it may");
}

/// Writes pieces as long as the socket takes them whole.
void PieceSender::serve_on(Connection& connection) noexcept {
  while (!connection.servings.empty() && connection.is_open() && !connection.is_broken &&
         connection.output.is_empty()) {
    Serving& serving = connection.servings.front();
    connection.piece = std::min<std::size_t>(serving.left, kLongestPiece);
    bool is_allowed = false;
    const auto result = begin_piece(connection, serving, is_allowed);
    if (!is_allowed) {
      const std::uint64_t token = serving.token;
      connection.servings.erase(connection.servings.begin());
      answer(connection, RecordKind::refused, token);
      continue;
    }
    if (!owner_.note(connection, result)) return;  // the rest of the piece is written by flush()
    note_piece(connection);
  }
}

Output::Result PieceSender::flush(Connection& connection) noexcept {
  auto result = Output::Result::taken;
  if (!write_begun(connection, result)) {
    owner_.lose(connection, "memory of which it is reading has been withdrawn");
    return Output::Result::failed;
  }
  if (result == Output::Result::failed) {
    static_cast<void>(owner_.note(connection, result));
    return result;
  }
  if (result == Output::Result::taken) serve_on(connection);
  return connection.output.is_empty() && connection.servings.empty() ? Output::Result::taken
                                                                     : Output::Result::full;
}

}  // namespace weft::network::tcp
