#include "network/tcp/connection/piece_receiver.hpp"

#include "base/memory/guarded_copy.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace weft::network::tcp {

bool PieceReceiver::land(Connection& connection, const Record& record,
                         session::SessionDevice& device) noexcept {
  Transfer* const transfer = transfers_.find(connection, record.token);
  if (transfer == nullptr || transfer->to == nullptr || record.bytes == 0 || record.bytes > transfer->left) {
    owner_.lose(connection, "it has sent " + std::to_string(record.bytes) + " bytes that were not asked for");
    return false;
  }
  connection.begin += sizeof record;
  const std::size_t here = std::min<std::size_t>(record.bytes, connection.end - connection.begin);
  std::memcpy(transfer->to, connection.chunk->bytes.get() + connection.begin, here);
  connection.begin += here;
  connection.landing = {.to = transfer->to + here,
                        .left = record.bytes - here,
                        .padding = padded(record.bytes) - record.bytes,
                        .token = record.token};
  transfer->to += record.bytes;
  transfer->left -= record.bytes;
  if (connection.landing.left != 0) return make_room_for_rest(connection);
  end_piece(connection, device);
  return true;
}

bool PieceReceiver::land_put(Connection& connection, const Record& record) noexcept {
  PutHead head{};
  if (record.bytes <= sizeof head || record.bytes > sizeof head + kLongestPiece) {
    owner_.lose(connection, "it has sent a put of " + std::to_string(record.bytes) + " bytes at a time");
    return false;
  }
  if (connection.end - connection.begin < sizeof record + sizeof head) return false;
  std::memcpy(&head, connection.chunk->bytes.get() + connection.begin + sizeof record, sizeof head);
  connection.begin += sizeof record + sizeof head;
  const std::size_t size = record.bytes - sizeof head;
  connection.landing = {.left = size,
                        .padding = padded(record.bytes) - record.bytes,
                        .key = head.key,
                        .offset = head.offset,
                        .token = record.token,
                        .is_last = head.left == 0};
  const bool is_inside = regions_.visit(head.key, [&](std::span<std::byte> memory) {
    const std::size_t room = head.offset <= memory.size() ? memory.size() - head.offset : 0;
    if (size > room || head.left > room - size) connection.refuses_put = true;
  });
  if (!is_inside) connection.refuses_put = true;
  store(connection, std::min(size, connection.end - connection.begin));
  if (connection.landing.left != 0) return make_room_for_rest(connection);
  end_put_piece(connection);
  return connection.is_open();
}

/// Moves `here` bytes of a put from the chunk to the region.
void PieceReceiver::store(Connection& connection, std::size_t here) noexcept {
  Landing& landing = connection.landing;
  const std::byte* const from = connection.chunk->bytes.get() + connection.begin;
  if (here != 0 && !connection.refuses_put && !regions_.visit(landing.key, [&](std::span<std::byte> memory) {
        if (!base::write_guarded(memory.data() + landing.offset, from, here)) connection.refuses_put = true;
      }))
    connection.refuses_put = true;
  connection.begin += here;
  landing.offset += here;
  landing.left -= here;
}

/// Nothing is left in the chunk. The next record shall begin at a multiple of its alignment, behind the
/// padding of this one. Returns false: nothing more can be taken.
bool PieceReceiver::make_room_for_rest(Connection& connection) noexcept {
  const std::size_t base =
      connection.chunk->users.load(std::memory_order_acquire) == 1 ? 0 : padded(connection.end);
  const std::size_t offset = base + shift_of(connection.landing);
  if (offset <= kChunkBytes) connection.begin = connection.end = offset;
  return false;
}

ssize_t PieceReceiver::receive_landing(Connection& connection, std::size_t& asked) noexcept {
  const Landing& landing = connection.landing;
  const auto receive = [&](std::byte* to, std::size_t size) {
    // What follows is read only when all of the landing can be.
    const std::size_t behind = size == landing.left ? kChunkBytes - connection.end : 0;
    const std::array<iovec, 2> parts{iovec{to, size},
                                     iovec{connection.chunk->bytes.get() + connection.end, behind}};
    asked = size + behind;
    return connection.stream.receive(connection.socket.get(), parts, 0);
  };
  if (landing.to != nullptr) return receive(landing.to, landing.left);
  ssize_t got = 0;
  if (!connection.refuses_put) {
    // The region cannot be released meanwhile.
    const bool is_open = regions_.visit(landing.key, [&](std::span<std::byte> memory) {
      got = receive(memory.data() + landing.offset, landing.left);
    });
    if (is_open && (got >= 0 || errno != EFAULT)) return got;
    connection.refuses_put = true;
  }
  return receive(discarded_.get(), std::min(landing.left, kDiscard));
}

void PieceReceiver::end_piece(Connection& connection, session::SessionDevice& device) noexcept {
  if (connection.landing.to == nullptr) return end_put_piece(connection);
  Transfer* const transfer = transfers_.find(connection, connection.landing.token);
  if (transfer != nullptr && transfer->left == 0 && !transfer->is_get)
    transfers_.end(*transfer, Outcome::ok, device);
}

void PieceReceiver::end_put_piece(Connection& connection) noexcept {
  if (!connection.landing.is_last) return;
  const bool is_refused = std::exchange(connection.refuses_put, false);
  answers_.answer(connection, is_refused ? RecordKind::refused : RecordKind::put_completed,
                  connection.landing.token);
}

bool PieceReceiver::end_access(Connection& connection, const Record& record,
                               session::SessionDevice& device) noexcept {
  Transfer* const transfer = transfers_.find(connection, record.token);
  if (transfer == nullptr || record.bytes != 0) return false;
  const bool is_put = transfer->to == nullptr;
  const bool is_refused = record.kind == RecordKind::refused;
  const bool is_known = is_refused || (record.kind == RecordKind::put_completed ? is_put : transfer->is_get);
  // The bytes of a put are borrowed until they are written; those of a get are all there.
  const bool is_whole = transfer->left == 0 || (is_refused && !is_put);
  if (!is_known || !is_whole) return false;
  transfers_.end(*transfer, is_refused ? Outcome::refused : Outcome::ok, device);
  return true;
}

}  // namespace weft::network::tcp
