#include "core/protocol/one_sided/target.hpp"

#include "base/memory/guarded_copy.hpp"
#include "core/protocol/one_sided/signal.hpp"

#include <weft/completion/completion.hpp>
#include <weft/detail/message_access.hpp>

#include <array>
#include <cstring>
#include <string>

namespace weft::core {

using network::Outgoing;
using network::SendResult;
using network::TrafficClass;

AccessTarget::AccessTarget(const Context& context, OneSidedCounts& counts)
    : context_(context),
      counts_(counts),
      sizes_(context),
      answers_(context.requests, "answers to accesses of peers") {}

/// Returns the memory of a piece, or nullptr unless all of its access is inside an open region.
std::byte* AccessTarget::find(const AccessPiece& piece) const noexcept {
  if (piece.piece_offset > piece.size || piece.length > piece.size - piece.piece_offset) return nullptr;
  std::byte* access =
      context_.regions.find({piece.region.index, piece.region.generation}, piece.offset, piece.size);
  return access != nullptr ? access + piece.piece_offset : nullptr;
}

/// Writes the data of a put. Returns false when the memory is no longer what the program has registered.
bool AccessTarget::store(const AccessPiece& piece, std::byte* memory, const std::byte* from) const noexcept {
  if (piece.length == 0) return true;
  if (context_.regions.is_of_program({piece.region.index, piece.region.generation}))
    return base::write_guarded(memory, from, piece.length);
  std::memcpy(memory, from, piece.length);
  return true;
}

/// Reads the data for a get. Returns false when the memory is no longer what the program has registered.
bool AccessTarget::load(const AccessPiece& piece, std::byte* to, const std::byte* memory) const noexcept {
  if (piece.length == 0) return true;
  if (context_.regions.is_of_program({piece.region.index, piece.region.generation}))
    return base::read_guarded(to, memory, piece.length);
  std::memcpy(to, memory, piece.length);
  return true;
}

/// Returns an answer to fill, or nullptr. Half of the answers are reserved for accesses posted inside
/// handlers: their initiators accept only answers until these accesses have ended.
AccessTarget::Answer* AccessTarget::take_answer(bool urgent) noexcept {
  const std::uint32_t in_use = answers_in_use_.load(std::memory_order_relaxed);
  if (!urgent && in_use >= answers_.capacity() / 2) return nullptr;
  Answer* const answer = answers_.take();
  if (answer == nullptr) return nullptr;
  answers_in_use_.fetch_add(1, std::memory_order_relaxed);
  counts_.outstanding.fetch_add(1, std::memory_order_relaxed);
  return answer;
}

void AccessTarget::free(Answer& answer) noexcept {
  answers_.put(answer);
  answers_in_use_.fetch_sub(1, std::memory_order_relaxed);
  counts_.outstanding.fetch_sub(1, std::memory_order_release);
}

bool AccessTarget::on_put(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept {
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
  std::byte* memory = find(piece);
  if (memory != nullptr && !store(piece, memory, arrival.data() + sizeof piece)) memory = nullptr;
  answer->peer = arrival.peer();
  answer->device = static_cast<std::uint8_t>(piece.device);
  answer->channel = Channel::access_completed;
  answer->request = piece.request;
  answer->outcome = memory != nullptr ? Outcome::ok : Outcome::refused;
  const bool signals = memory != nullptr && static_cast<std::uint16_t>(word >> 32) != 0;
  // The answer goes first: the initiator does not wait for the effects of the signal.
  give_or_store(*answer);
  if (signals) signal(word, Operation::put_arrived, arrival.peer());
  return true;
}

bool AccessTarget::on_get(const Message& arrival, network::Sink& sink) noexcept {
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
  if (piece.length > sizes_.get)
    sink.reject(arrival.peer(),
                "get of a piece that does not fit into a packet; set packet_size to the same on all ranks",
                piece.length);
  answer->peer = arrival.peer();
  answer->device = static_cast<std::uint8_t>(piece.device);
  answer->channel = Channel::get_data;
  answer->request = piece.request;
  answer->wanted = piece;
  give_or_store(*answer);
  return true;
}

void AccessTarget::give_or_store(Answer& answer) noexcept {
  if (give(answer, {.exclusive = false}) == Step::finished) return;
  counts_.working.fetch_add(1, std::memory_order_relaxed);
  giving_.add(answer);
}

Step AccessTarget::give(Answer& answer, Caller caller) noexcept {
  if (answer.channel == Channel::put_signal) {
    if (context_.exposures.is_to_come(answer.word)) return Step::idle;
    const std::uint64_t word = answer.word;
    const int peer = answer.peer;
    counts_.outstanding.fetch_add(1, std::memory_order_relaxed);
    free(answer);
    signal(word, Operation::put_arrived, peer);
    return Step::finished;
  }
  const Outgoing outgoing{
      answer.peer, answer.device,          TrafficClass::control, static_cast<std::uint8_t>(answer.channel),
      false,       word_of(answer.request)};
  SendResult sent = SendResult::no_slot;
  if (answer.channel == Channel::get_data) {
    sent = give_data(answer.wanted, outgoing, caller);
  } else if (answer.channel == Channel::atomic_completed) {
    const AtomicEnded ended{answer.old, answer.outcome == Outcome::ok ? 0U : 1U, 0};
    sent = context_.port->send(outgoing, bytes_of(ended), caller);
  } else {
    const AccessEnded ended{answer.outcome == Outcome::ok ? 0U : 1U};
    sent = context_.port->send(outgoing, bytes_of(ended), caller);
  }
  if (sent != SendResult::sent && sent != SendResult::peer_left) return Step::idle;
  free(answer);
  return Step::finished;
}

SendResult AccessTarget::give_data(const AccessPiece& wanted, const Outgoing& outgoing,
                                   Caller caller) noexcept {
  // Checked again at every attempt: the region may have been closed meanwhile.
  const std::byte* memory = wanted.length <= sizes_.get ? find(wanted) : nullptr;
  // Writes the answer and returns its length; the answer says so when there is nothing to read.
  const auto assemble = [&](std::byte* to) {
    const bool is_read = memory != nullptr && load(wanted, to + sizeof(GetData), memory);
    const GetData header{wanted.piece_offset, is_read ? 0U : 1U, 0};
    std::memcpy(to, &header, sizeof header);
    return sizeof header + (is_read ? wanted.length : 0);
  };
  if (memory == nullptr || sizeof(GetData) + wanted.length <= sizes_.inline_limit) {
    alignas(16) std::array<std::byte, kStackMessage> message;
    const std::size_t length = assemble(message.data());
    return context_.port->send(outgoing, Bytes(message).first(length), caller);
  }
  Packet packet = context_.pool.get();
  if (!packet) return SendResult::no_slot;
  const std::size_t length = assemble(packet.data());
  const SendResult sent = context_.port->send_packet(outgoing, packet.index(), length, caller);
  if (sent == SendResult::sent) packet.release();
  return sent;
}

void AccessTarget::signal(std::uint64_t word, Operation operation, int peer) noexcept {
  Completion* completion = context_.exposures.find(word);
  if (completion == nullptr) {
    if (context_.exposures.drops_late(word)) return;
    const std::uint64_t count = context_.counters.refused_handles.fetch_add(1, std::memory_order_relaxed) + 1;
    if (is_reported(count))
      context_.log.warn("refused a signal of rank " + std::to_string(peer) + " for id " +
                        std::to_string(word >> 48) + ", generation " + std::to_string(word >> 32 & 0xffff) +
                        ": stale, withdrawn or forged (" + std::to_string(count) + " so far)");
    return;
  }
  Message message;
  detail::MessageAccess::set_view(message, operation, peer, static_cast<std::uint32_t>(word), nullptr, 0,
                                  nullptr, 0);
  detail::MessageAccess::set_came_by(message, word, context_.device);
  completion->signal(message);
}

void AccessTarget::immediate_arrived(int peer, std::uint64_t immediate, std::size_t bytes) noexcept {
  const std::uint64_t word = word_of_immediate(immediate, bytes);
  // The put was sent without a check that the object is exposed: a signal for an object that will be exposed
  // later is stored.
  Answer* stored = context_.exposures.is_to_come(word) ? take_answer(false) : nullptr;
  if (stored == nullptr) return signal(word, Operation::put_arrived, peer);
  stored->peer = peer;
  stored->channel = Channel::put_signal;
  stored->word = word;
  counts_.outstanding.fetch_sub(1, std::memory_order_relaxed);  // no operation of this rank waits for it
  give_or_store(*stored);
}

std::size_t AccessTarget::step(Caller caller) noexcept {
  return giving_.run(counts_.working, [&](Answer& answer) { return give(answer, caller); });
}

}  // namespace weft::core
