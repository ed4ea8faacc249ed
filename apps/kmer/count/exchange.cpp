#include "count/exchange.hpp"

#include <cstring>
#include <new>
#include <utility>

namespace kmer {

namespace {

constexpr std::uint32_t kFirstHandle = 16;  // handle of port i: kFirstHandle + i
enum Tag : std::uint32_t { kRecords, kMarker, kContribution };

}  // namespace

Exchange::Exchange(weft::Runtime& runtime, const ExchangeOptions& options, Failure& failure)
    : runtime_(runtime), options_(options), failure_(failure) {
  const int ports = options.threads + (options.progress == Progress::dedicated ? 1 : 0);
  for (int i = 0; i < ports; ++i) ports_.push_back(std::make_unique<Port>(*this, i));
}

Exchange::~Exchange() = default;

std::vector<std::string> Exchange::allgather(std::string_view mine) {
  const std::uint64_t round = round_++;
  std::string message(sizeof round, '\0');
  std::memcpy(message.data(), &round, sizeof round);
  message += mine;
  const weft::Bytes bytes = std::as_bytes(std::span(message.data(), message.size()));
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank())
      take_contribution(peer, bytes);
    else
      static_cast<void>(port(0).endpoint_.send_am(peer, port(0).handle_, bytes, {.tag = kContribution}));
  }
  port(0).serve_until([&] { return rounds_[round].arrived == size(); });
  std::vector<std::string> parts = std::move(rounds_[round].parts);
  rounds_.erase(round);
  return parts;
}

void Exchange::take_contribution(int rank, weft::Bytes bytes) {
  std::uint64_t round = 0;
  if (bytes.size() < sizeof round || rank < 0 || rank >= size()) return;
  std::memcpy(&round, bytes.data(), sizeof round);
  Round& entry = rounds_[round];
  entry.parts.resize(size());
  entry.parts[rank].assign(reinterpret_cast<const char*>(bytes.data()) + sizeof round,
                           bytes.size() - sizeof round);
  ++entry.arrived;
}

Port::Port(Exchange& exchange, int index)
    : exchange_(exchange),
      capacity_(exchange.options_.buffer),
      senders_(static_cast<std::uint64_t>(exchange.size()) * static_cast<std::uint64_t>(exchange.workers())),
      own_destination_(-1),
      device_(exchange.runtime_, {.index = index}),
      endpoint_(device_),
      handler_(Arrival{this}),
      buffers_(exchange.receivers()) {
  const bool is_worker = index < exchange.workers();
  const int receiver = exchange.receiver_of(index);
  if (receiver >= 0) own_destination_ = exchange.rank() * exchange.receivers_per_rank() + receiver;
  if (is_worker)
    for (Buffer& buffer : buffers_)
      buffer.bytes = std::make_unique_for_overwrite<std::uint8_t[]>(capacity_ + kSlack);
  handle_ = exchange.runtime_.expose(handler_, {.id = kFirstHandle + static_cast<std::uint32_t>(index),
                                                .device = static_cast<std::uint32_t>(index)});
}

void Port::flush(int destination) {
  Buffer& buffer = buffers_[destination];
  if (buffer.used == 0) return;
  const std::span<const std::uint8_t> records(buffer.bytes.get(), buffer.used);
  if (destination == own_destination_) {
    receiver_(records);
  } else {
    const int per_rank = exchange_.receivers_per_rank();
    static_cast<void>(endpoint_.send_am(destination / per_rank,
                                        exchange_.receiver_port(destination % per_rank).handle_,
                                        std::as_bytes(records), {.tag = kRecords}));
    ++buffer.sent;
    ++messages_;
    bytes_ += buffer.used;
  }
  buffer.used = 0;
}

void Port::finish_sending(bool failed) {
  const int per_rank = exchange_.receivers_per_rank();
  for (int destination = 0; destination < exchange_.receivers(); ++destination) {
    if (failed)
      buffers_[destination].used = 0;
    else
      flush(destination);
    const Marker marker{std::exchange(buffers_[destination].sent, 0), failed ? 1U : 0U};
    if (destination == own_destination_)
      take_marker(marker, true);
    else
      static_cast<void>(endpoint_.send_am(destination / per_rank,
                                          exchange_.receiver_port(destination % per_rank).handle_,
                                          weft::bytes_of(marker), {.tag = kMarker}));
  }
}

void Port::finish_receiving() {
  serve_until([this] { return pass_is_complete(); });
  // The next pass starts when all ranks have agreed on the end of this one, so none of its messages can have
  // arrived.
  markers_ = 0;
  expected_ = 0;
  received_ = 0;
}

void Port::take_marker(const Marker& marker, bool is_own_rank) {
  ++markers_;
  expected_ += marker.messages;
  if (marker.failed != 0 && !is_own_rank) exchange_.failure_.report_elsewhere();
}

void Port::arrive(weft::Message& message) noexcept {
  try {
    switch (message.tag()) {
      case kRecords:
        ++received_;
        receiver_({reinterpret_cast<const std::uint8_t*>(message.data()), message.size()});
        return;
      case kMarker:
        take_marker(message.as<Marker>(), message.peer() == exchange_.rank());
        return;
      case kContribution:
        exchange_.take_contribution(message.peer(), message.bytes());
        return;
      default:
        exchange_.failure_.report("a message of an unknown kind arrived: do all ranks run the same program?");
    }
  } catch (const std::bad_alloc&) {
    exchange_.failure_.report("out of memory: use more ranks on more hosts, or a smaller --memory");
  }
}

}  // namespace kmer
