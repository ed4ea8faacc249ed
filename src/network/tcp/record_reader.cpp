#include "network/tcp/record_reader.hpp"

#include "base/system_call.hpp"
#include "network/session/session_device.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace weft::network::tcp {

namespace {

constexpr int kReadsPerVisit = 4;
constexpr std::size_t kLeastRoom = 16 << 10;  // that a read is given

bool is_whole(const Connection& connection, const Record& record) noexcept {
  return connection.end - connection.begin >= sizeof record + padded(record.bytes);
}

}  // namespace

/// What comes next comes to where the last messages have been read, which is in the cache; by now they have
/// been delivered, as a rule.
void RecordReader::rewind(Connection& connection) noexcept {
  // Pairs with the release of threads that have delivered messages of the chunk.
  if (connection.begin == connection.end && connection.landing.left == 0 && connection.landing.padding == 0 &&
      connection.chunk->users.load(std::memory_order_acquire) == 1)
    connection.begin = connection.end = 0;
}

/// Makes room for a read, and for the whole of the record that has come in part. Returns false when there is
/// no memory: the bytes wait in the kernel.
bool RecordReader::make_room(Connection& connection) noexcept {
  rewind(connection);
  if (kChunkBytes - connection.end >= kLeastRoom) return true;
  const std::size_t size = connection.end - connection.begin;
  std::byte* const part = connection.chunk->bytes.get() + connection.begin;
  const std::size_t shift = shift_of(connection.landing);
  // Pairs with the release of threads that have delivered messages of the chunk.
  if (connection.chunk->users.load(std::memory_order_acquire) == 1) {
    std::memmove(connection.chunk->bytes.get() + shift, part, size);
  } else {
    Chunk* const fresh = chunks_.take_chunk();
    if (fresh == nullptr) return false;
    std::memcpy(fresh->bytes.get() + shift, part, size);
    chunks_.release(*std::exchange(connection.chunk, fresh));
  }
  connection.begin = shift;
  connection.end = shift + size;
  return true;
}

bool RecordReader::read(Connection& connection, session::SessionDevice& device) noexcept {
  bool has_read = false;
  for (int round = 0; round < kReadsPerVisit && connection.is_open() && make_room(connection); ++round) {
    Landing& landing = connection.landing;
    std::size_t asked = kChunkBytes - connection.end;
    const iovec room{connection.chunk->bytes.get() + connection.end, asked};
    const ssize_t got = landing.left == 0 ? connection.stream.receive(connection.socket.get(), {&room, 1})
                                          : landings_.receive_landing(connection, asked);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (got <= 0) {
      owner_.lose(connection, got == 0           ? "it has closed the connection"
                              : errno == EBADMSG ? "what came over the connection was changed on its way"
                                                 : base::failed_call("recv", errno));
      break;
    }
    has_read = true;
    const std::size_t landed = std::min(static_cast<std::size_t>(got), landing.left);
    if (landing.to != nullptr) landing.to += landed;
    landing.offset += landed;
    landing.left -= landed;
    connection.end += static_cast<std::size_t>(got) - landed;
    if (landed != 0 && landing.left == 0) landings_.end_piece(connection, device);
    take_records(connection, device);
    if (static_cast<std::size_t>(got) < asked) break;
  }
  if (connection.stream.has_more() && connection.is_open() && !connection.is_unread) {
    connection.is_unread = true;
    unread_.push_back(&connection);  // has the room
  }
  return has_read;
}

void RecordReader::take_records(Connection& connection, session::SessionDevice& device) noexcept {
  while (connection.is_open() && connection.landing.left == 0) {
    const std::size_t skipped = std::min(connection.landing.padding, connection.end - connection.begin);
    connection.begin += skipped;
    connection.landing.padding -= skipped;
    if (connection.landing.padding != 0 || !take_record(connection, device)) break;
  }
}

bool RecordReader::take_record(Connection& connection, session::SessionDevice& device) noexcept {
  Record record{};
  if (connection.end - connection.begin < sizeof record) return false;
  std::memcpy(&record, connection.chunk->bytes.get() + connection.begin, sizeof record);
  bool is_well = false;
  switch (record.kind) {
    case RecordKind::message:
      is_well = record.bytes >= sizeof(session::Header) && record.bytes <= context_.message_bytes;
      if (is_well && !is_whole(connection, record)) return false;
      is_well = is_well && take_message(connection, record, device);
      break;
    case RecordKind::fetch:
    case RecordKind::get:
      is_well = record.bytes == sizeof(FetchRequest);
      if (is_well && !is_whole(connection, record)) return false;
      is_well = is_well && pieces_.begin_serving(connection, record);
      break;
    case RecordKind::data:
      return landings_.land(connection, record, device);
    case RecordKind::put:
      return landings_.land_put(connection, record);
    case RecordKind::refused:
    case RecordKind::put_completed:
    case RecordKind::get_completed:
      is_well = landings_.end_access(connection, record, device);
      break;
    case RecordKind::leave:
      is_well = record.bytes == 0;
      if (is_well) context_.peers.mark_left(connection.rank, "");
      break;
  }
  if (!is_well) {
    owner_.lose(connection, "it has sent a record of kind " + std::to_string(static_cast<int>(record.kind)) +
                                " and of " + std::to_string(record.bytes) + " bytes that cannot be");
    return false;
  }
  connection.begin += sizeof record + padded(record.bytes);
  return true;
}

bool RecordReader::take_message(Connection& connection, const Record& record,
                                session::SessionDevice& device) noexcept {
  std::byte* const bytes = connection.chunk->bytes.get() + connection.begin + sizeof record;
  session::Header header{};
  std::memcpy(&header, bytes, sizeof header);
  // The sender is the one that has greeted.
  if (header.rank != static_cast<std::uint32_t>(connection.rank) || header.device != connection.device)
    return false;
  ChunkMessage* const message = chunks_.take_message(*connection.chunk);
  if (message == nullptr) return false;  // more messages than it has credit for
  message->bytes = bytes;
  message->size = record.bytes;
  device.accept(*message);
  return true;
}

void RecordReader::read_unread(session::SessionDevice& device) noexcept {
  for (std::size_t left = unread_.size(); left != 0; --left) {
    Connection* const each = unread_.front();
    unread_.erase(unread_.begin());
    each->is_unread = false;
    if (each->is_open()) static_cast<void>(read(*each, device));
  }
}

}  // namespace weft::network::tcp
