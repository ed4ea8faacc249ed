// Emulated puts and gets, by messages: the initiator's side.
#include "core/protocol/one_sided/messages.hpp"
#include "core/protocol/one_sided/send_to_target.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::core {

using network::Outgoing;
using network::SendResult;

namespace {

constexpr std::uint64_t kPiecesUnderWay = 16;  // most pieces of one access in progress
constexpr int kPiecesPerStep = 8;              // so that other operations are served in between

}  // namespace

AccessPiece AccessMessages::next_piece(const Request& request, std::uint64_t size) const noexcept {
  const RemoteRegion& region = request.where.region;
  return {{region.index, region.generation},
          request.where.offset,
          request.size,
          request.sent,
          request.name(),
          static_cast<std::uint32_t>(size),
          static_cast<std::uint16_t>(context_.device),
          static_cast<std::uint16_t>(request.from_handler ? 1 : 0)};
}

Status AccessMessages::send_piece(Request& request, Caller caller, bool& has_left) noexcept {
  const std::uint64_t size = std::min<std::uint64_t>(request.size - request.sent, request.piece);
  // Counted before the send: the answer may arrive before it returns.
  request.word.fetch_add(1, std::memory_order_relaxed);
  const Status status = request.operation == Operation::put   ? send_put(request, size, caller, has_left)
                        : request.operation == Operation::get ? send_get(request, size, caller, has_left)
                                                              : send_atomic(request, caller, has_left);
  if (status.is_done() && !has_left)
    request.sent += size;
  else
    request.word.fetch_sub(1, std::memory_order_relaxed);
  return status;
}

Status AccessMessages::send_put(Request& request, std::uint64_t size, Caller caller,
                                bool& has_left) noexcept {
  const AccessPiece piece = next_piece(request, size);
  const std::size_t length = sizeof piece + size;
  const auto assemble = [&](std::byte* to) {
    std::memcpy(to, &piece, sizeof piece);
    if (size != 0) std::memcpy(to + sizeof piece, request.data + request.sent, size);
  };
  alignas(16) std::array<std::byte, kStackMessage> message;
  if (length <= sizes_.inline_limit) {
    assemble(message.data());
  } else if (!request.packet) {
    request.packet = context_.pool.get();
    if (!request.packet) return Status::retry(Reason::no_packet);
    assemble(request.packet.data());
  }
  // The signal travels with a put of one piece; pieces of several may overtake each other.
  const RemoteCompletion signal = request.is_single() ? request.options.signal : RemoteCompletion{};
  return send_to_target(request, Channel::put, signal, caller, has_left, [&](const Outgoing& outgoing) {
    if (length <= sizes_.inline_limit)
      return context_.port->send(outgoing, Bytes(message).first(length), caller);
    const SendResult result = context_.port->send_packet(outgoing, request.packet.index(), length, caller);
    if (result == SendResult::sent) request.packet.release();
    return result;
  });
}

Status AccessMessages::send_get(Request& request, std::uint64_t size, Caller caller,
                                bool& has_left) noexcept {
  const AccessPiece piece = next_piece(request, size);
  return send_to_target(request, Channel::get, {}, caller, has_left, [&](const Outgoing& outgoing) {
    return context_.port->send(outgoing, bytes_of(piece), caller);
  });
}

Step AccessMessages::advance(Request& request, Caller caller) noexcept {
  using namespace request_word;
  if (request.signals) {
    if (!requests_.send_signal(request, caller)) return Step::idle;
    requests_.free(request);
    return Step::finished;
  }
  Step result = Step::idle;
  bool has_left = false;
  bool is_over = false;
  for (int count = 0; count < kPiecesPerStep && !is_over; ++count) {
    const std::uint64_t word = request.word.load(std::memory_order_relaxed);
    if ((word & (kRefused | kExpired)) != 0) {
      is_over = true;  // the remaining pieces are not needed any more
    } else if ((word & kPieces) >= kPiecesUnderWay) {
      has_left = context_.port->has_left(request.where.region.rank);
      if (!has_left) return result;
    } else if (send_piece(request, caller, has_left).is_retry()) {
      return result;
    } else {
      result = Step::moved;
      is_over = request.sent == request.size;
    }
    is_over = is_over || has_left;
  }
  if (!is_over) return result;
  const std::uint64_t after = update(request.word, [&](std::uint64_t word) {
    word &= ~kPosting;
    return has_left ? (word & ~kPieces) | kLost : word;
  });
  if ((after & kUnderWay) == 0) static_cast<void>(requests_.finish(request, outcome_of(after)));
  return Step::finished;
}

void AccessMessages::on_access_completed(std::uint64_t word, const Message& arrival,
                                         network::Sink& sink) noexcept {
  AccessEnded ended{};
  if (arrival.size() != sizeof ended)
    return sink.reject(arrival.peer(), "end of a put of a wrong length", arrival.size());
  std::memcpy(&ended, arrival.data(), sizeof ended);
  Request* request = requests_.claim(name_of(word), arrival.peer(), Operation::put);
  if (request == nullptr) return requests_.reject_unknown(arrival, "end of an unknown put", word, sink);
  requests_.settle(*request, ended.outcome == 0 ? Outcome::ok : Outcome::refused);
}

void AccessMessages::on_get_data(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept {
  GetData header{};
  if (arrival.size() < sizeof header)
    return sink.reject(arrival.peer(), "answer to a get of a wrong length", arrival.size());
  std::memcpy(&header, arrival.data(), sizeof header);
  Request* request = requests_.claim(name_of(word), arrival.peer(), Operation::get);
  if (request == nullptr) return requests_.reject_unknown(arrival, "answer to an unknown get", word, sink);
  const std::uint64_t size = arrival.size() - sizeof header;
  const bool is_ok = header.outcome == 0;
  // Whole pieces only, so that a wrong answer of the peer cannot end the access early.
  const bool is_piece = header.piece_offset <= request->size && header.piece_offset % request->piece == 0 &&
                        size == std::min<std::uint64_t>(request->size - header.piece_offset, request->piece);
  if (is_ok && !is_piece) {
    sink.reject(arrival.peer(), "answer that is not a piece of its get", header.piece_offset);
    requests_.disclaim(*request);
    return;
  }
  if (is_ok && size != 0)
    std::memcpy(request->data + header.piece_offset, arrival.data() + sizeof header, size);
  requests_.settle(*request, is_ok ? Outcome::ok : Outcome::refused);
}

}  // namespace weft::core
