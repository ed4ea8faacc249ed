// Emulated puts and gets, by messages: the target's side. Everything that the initiator sends is checked.
#include "base/memory/guarded_copy.hpp"
#include "core/protocol/one_sided/records.hpp"

#include <array>
#include <cstring>

namespace weft::core {

using network::Outgoing;
using network::SendResult;
using network::TrafficClass;

/// Returns the memory of a piece, or nullptr unless all of its access is inside an open region.
std::byte* OneSided::find(const AccessPiece& piece) const noexcept {
  if (piece.place > piece.size || piece.length > piece.size - piece.place) return nullptr;
  std::byte* access =
      context_.regions.find({piece.region.index, piece.region.generation}, piece.offset, piece.size);
  return access != nullptr ? access + piece.place : nullptr;
}

/// Writes the data of a put. Returns false when the memory is no longer what the program has registered.
bool OneSided::store(const AccessPiece& piece, std::byte* place, const std::byte* from) const noexcept {
  if (piece.length == 0) return true;
  if (context_.regions.is_of_program({piece.region.index, piece.region.generation}))
    return base::write_guarded(place, from, piece.length);
  std::memcpy(place, from, piece.length);
  return true;
}

/// Reads the data for a get. Returns false when the memory is no longer what the program has registered.
bool OneSided::load(const AccessPiece& piece, std::byte* to, const std::byte* place) const noexcept {
  if (piece.length == 0) return true;
  if (context_.regions.is_of_program({piece.region.index, piece.region.generation}))
    return base::read_guarded(to, place, piece.length);
  std::memcpy(to, place, piece.length);
  return true;
}

/// Returns an answer to fill, or nullptr. Half of the answers are reserved for accesses posted inside
/// handlers: their initiators accept only answers until these accesses have ended.
OneSided::Answer* OneSided::take_answer(bool urgent) noexcept {
  const std::uint32_t in_use = answers_in_use_.load(std::memory_order_relaxed);
  if (!urgent && in_use >= context_.requests / 2) return nullptr;
  const std::uint32_t index = free_answers_.take();
  if (index == concurrent::IndexPool<>::kNone) return nullptr;
  answers_in_use_.fetch_add(1, std::memory_order_relaxed);
  outstanding_.fetch_add(1, std::memory_order_relaxed);
  return &answers_[index];
}

void OneSided::free(Answer& answer) noexcept {
  free_answers_.put(answer.index);
  answers_in_use_.fetch_sub(1, std::memory_order_relaxed);
  outstanding_.fetch_sub(1, std::memory_order_release);
}

bool OneSided::on_put(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept {
  AccessPiece piece{};
  if (arrival.size() >= sizeof piece) std::memcpy(&piece, arrival.data(), sizeof piece);
  if (arrival.size() < sizeof piece || piece.length != arrival.size() - sizeof piece) {
    sink.reject(arrival.peer(), "put of a wrong length", arrival.size());
    return true;
  }
  if (piece.device >= detail::DevicePath::kMaxDevices) {
    sink.reject(arrival.peer(), "put from a device out of range", piece.device);
    return true;
  }
  // Before the copy: a piece that is delivered again must not be copied twice.
  Answer* answer = take_answer(piece.urgent != 0);
  if (answer == nullptr) return false;
  std::byte* place = find(piece);
  if (place != nullptr && !store(piece, place, arrival.data() + sizeof piece)) place = nullptr;
  answer->peer = arrival.peer();
  answer->device = static_cast<std::uint8_t>(piece.device);
  answer->channel = Channel::access_ended;
  answer->request = piece.request;
  answer->outcome = place != nullptr ? Outcome::ok : Outcome::refused;
  const bool signals = place != nullptr && static_cast<std::uint16_t>(word >> 32) != 0;
  // The answer goes first: the initiator does not wait for the effects of the signal.
  give_or_keep(*answer);
  if (signals) signal(word, Operation::put_arrived, arrival.peer());
  return true;
}

bool OneSided::on_get(const Message& arrival, network::Sink& sink) noexcept {
  AccessPiece piece{};
  if (arrival.size() != sizeof piece) {
    sink.reject(arrival.peer(), "get of a wrong length", arrival.size());
    return true;
  }
  std::memcpy(&piece, arrival.data(), sizeof piece);
  if (piece.device >= detail::DevicePath::kMaxDevices) {
    sink.reject(arrival.peer(), "get from a device out of range", piece.device);
    return true;
  }
  Answer* answer = take_answer(piece.urgent != 0);
  if (answer == nullptr) return false;
  // The get is answered all the same, because the initiator waits for the answer.
  if (piece.length > get_piece_)
    sink.reject(arrival.peer(),
                "get of a piece that does not fit into a packet; set packet_size to the same on all ranks",
                piece.length);
  answer->peer = arrival.peer();
  answer->device = static_cast<std::uint8_t>(piece.device);
  answer->channel = Channel::get_data;
  answer->request = piece.request;
  answer->wanted = piece;
  give_or_keep(*answer);
  return true;
}

void OneSided::give_or_keep(Answer& answer) noexcept {
  if (give(answer, false) == Step::finished) return;
  working_.fetch_add(1, std::memory_order_relaxed);
  giving_.add(answer);
}

Step OneSided::give(Answer& answer, bool exclusive) noexcept {
  if (answer.channel == Channel::put_signal) {
    if (context_.exposures.is_to_come(answer.word)) return Step::idle;
    const std::uint64_t word = answer.word;
    const int peer = answer.peer;
    outstanding_.fetch_add(1, std::memory_order_relaxed);
    free(answer);
    signal(word, Operation::put_arrived, peer);
    return Step::finished;
  }
  const Outgoing outgoing{
      answer.peer, answer.device,          TrafficClass::control, static_cast<std::uint8_t>(answer.channel),
      false,       word_of(answer.request)};
  SendResult sent = SendResult::no_slot;
  if (answer.channel == Channel::get_data) {
    sent = give_data(answer.wanted, outgoing, exclusive);
  } else if (answer.channel == Channel::atomic_ended) {
    const AtomicEnded ended{answer.old, answer.outcome == Outcome::ok ? 0U : 1U, 0};
    sent = context_.port->send(outgoing, bytes_of(ended), exclusive);
  } else {
    const AccessEnded ended{answer.outcome == Outcome::ok ? 0U : 1U};
    sent = context_.port->send(outgoing, bytes_of(ended), exclusive);
  }
  if (sent != SendResult::sent && sent != SendResult::peer_left) return Step::idle;
  free(answer);
  return Step::finished;
}

SendResult OneSided::give_data(const AccessPiece& wanted, const Outgoing& outgoing, bool exclusive) noexcept {
  // Checked again at every attempt: the region may have been closed meanwhile.
  const std::byte* place = wanted.length <= get_piece_ ? find(wanted) : nullptr;
  // Writes the answer and returns its length; the answer says so when there is nothing to read.
  const auto assemble = [&](std::byte* to) {
    const bool is_read = place != nullptr && load(wanted, to + sizeof(GetData), place);
    const GetData header{wanted.place, is_read ? 0U : 1U, 0};
    std::memcpy(to, &header, sizeof header);
    return sizeof header + (is_read ? wanted.length : 0);
  };
  if (place == nullptr || sizeof(GetData) + wanted.length <= inline_limit_) {
    alignas(16) std::array<std::byte, kStackMessage> message;
    const std::size_t length = assemble(message.data());
    return context_.port->send(outgoing, Bytes(message).first(length), exclusive);
  }
  Packet packet = context_.pool.get();
  if (!packet) return SendResult::no_slot;
  const std::size_t length = assemble(packet.data());
  const SendResult sent = context_.port->send_packet(outgoing, packet.index(), length, exclusive);
  if (sent == SendResult::sent) packet.release();
  return sent;
}

}  // namespace weft::core
