#include "core/protocol/traced_port.hpp"

#include "base/clock.hpp"
#include "core/protocol/wire.hpp"

#include <weft/status.hpp>

namespace weft::detail {

using core::Channel;
using core::TraceEvent;
using network::AccessResult;
using network::SendResult;

namespace {

/// The names of sends and deliveries, by channel.
constexpr const char* kNames[][2] = {
    {"send unknown", "deliver unknown"},
    {"send active message", "deliver active message"},
    {"send RTS", "deliver RTS"},
    {"send CTS", "deliver CTS"},
    {"send fragment", "deliver fragment"},
    {"send FIN", "deliver FIN"},
    {"send answer", "deliver answer"},
    {"send matched message", "deliver matched message"},
    {"send matched RTS", "deliver matched RTS"},
    {"send credit", "deliver credit"},
    {"send put", "deliver put"},
    {"send get", "deliver get"},
    {"send get data", "deliver get data"},
    {"send access ended", "deliver access ended"},
    {"send put signal", "deliver put signal"},
    {"send get signal", "deliver get signal"},
    {"send atomic operation", "deliver atomic operation"},
    {"send atomic result", "deliver atomic result"},
    {"send atomic signal", "deliver atomic signal"},
    {"send multipart RTS", "deliver multipart RTS"},
    {"send cancel", "deliver cancel"},
    {"send cancelled", "deliver cancelled"},
    {"send refusal", "deliver refusal"},
    {"send clear to put", "deliver clear to put"},
};
static_assert(static_cast<std::size_t>(Channel::fin) == 5 && static_cast<std::size_t>(Channel::get) == 11 &&
              static_cast<std::size_t>(Channel::clear_to_put) == std::size(kNames) - 1);

const char* name_of(std::uint8_t channel, bool is_delivery) noexcept {
  return kNames[channel < std::size(kNames) ? channel : 0][is_delivery ? 1 : 0];
}

const char* text_of(SendResult result) noexcept {
  switch (result) {
    case SendResult::sent:
      return "sent";
    case SendResult::no_slot:
      return "no_slot";
    case SendResult::no_credit:
      return "no_credit";
    case SendResult::lock_contended:
      return "lock_contended";
    case SendResult::not_ready:
      return "not_ready";
    case SendResult::peer_left:
      return "peer_left";
  }
  return "unknown";
}

const char* text_of(AccessResult result) noexcept {
  switch (result) {
    case AccessResult::done:
      return "done";
    case AccessResult::posted:
      return "posted";
    case AccessResult::no_slot:
      return "no_slot";
    case AccessResult::lock_contended:
      return "lock_contended";
    case AccessResult::not_ready:
      return "not_ready";
    case AccessResult::refused:
      return "refused";
    case AccessResult::peer_left:
      return "peer_left";
    case AccessResult::unsupported:
      return "unsupported";
  }
  return "unknown";
}

}  // namespace

/// Traces every delivery. Batches are delivered message by message.
class TracedPort::TracedSink final : public network::Sink {
 public:
  TracedSink(TracedPort& port, network::Sink& sink) noexcept : port_(port), sink_(sink) {}

  void deliver(network::Batch& batch) noexcept override {
    batch.for_each([this](std::uint8_t channel, std::uint64_t word, Message& message) {
      return trace(channel, word, message);
    });
  }
  void reject(int peer, const char* what, std::uint64_t value) noexcept override {
    TraceEvent event = port_.event("arrived", "reject", peer);
    event.detail = what;
    port_.tracer_.add(event);
    sink_.reject(peer, what, value);
  }
  void access_completed(std::uint64_t token, Outcome outcome) noexcept override {
    TraceEvent event = port_.event("arrived", "network's access ended", TraceEvent::kNobody);
    event.detail = weft::name_of(outcome);
    port_.tracer_.add(event);
    sink_.access_completed(token, outcome);
  }
  void immediate_arrived(int peer, std::uint64_t immediate, std::size_t bytes) noexcept override {
    port_.tracer_.add(port_.event("arrived", "immediate of a put", peer));
    sink_.immediate_arrived(peer, immediate, bytes);
  }
  void landed(std::uint64_t name, std::size_t bytes) noexcept override {
    port_.tracer_.add(port_.event("arrived", "put into a landing", TraceEvent::kNobody));
    sink_.landed(name, bytes);
  }

 private:
  bool trace(std::uint8_t channel, std::uint64_t word, Message& message) noexcept {
    TraceEvent event = port_.event("arrived", name_of(channel, true), message.peer());
    event.phase = TraceEvent::Phase::slice;
    event.has_size = true;
    event.size = message.size();
    event.has_tag = channel == static_cast<std::uint8_t>(Channel::send) ||
                    channel == static_cast<std::uint8_t>(Channel::send_rts);
    event.tag = word;
    event.begin_ns = base::now_ns();
    if (!sink_.deliver(channel, word, message)) return false;
    if (event.peer >= 0 && event.peer < port_.ranks_ && channel < kChannels &&
        port_.peer_capabilities(event.peer).keeps_order) {
      const std::uint64_t number = port_.got_[event.peer][channel].fetch_add(1, std::memory_order_relaxed);
      event.flow = port_.flow(event.peer, port_.tracer_.rank(), port_.device_, channel, number);
      event.is_flow_end = true;
    }
    event.duration_ns = base::now_ns() - event.begin_ns;
    port_.tracer_.add(event);
    return true;
  }

  TracedPort& port_;
  network::Sink& sink_;
};

TracedPort::TracedPort(std::unique_ptr<network::Port> port, core::Tracer& tracer, std::uint32_t device,
                       int ranks)
    : port_(std::move(port)),
      tracer_(tracer),
      device_(static_cast<std::uint8_t>(device)),
      ranks_(ranks),
      got_(new std::array<std::atomic<std::uint64_t>, kChannels>[static_cast<std::size_t>(ranks)]()) {
  tracer_.device_opened();
}

TraceEvent TracedPort::event(const char* category, const char* name, int peer) const noexcept {
  TraceEvent event;
  event.device = device_;
  event.peer = peer;
  event.category = category;
  event.name = name;
  event.begin_ns = base::now_ns();
  return event;
}

std::uint64_t TracedPort::flow(int from, int to, std::uint8_t device, std::uint8_t channel,
                               std::uint64_t number) const noexcept {
  const auto ranks = static_cast<std::uint64_t>(ranks_);
  const std::uint64_t pair = static_cast<std::uint64_t>(from) * ranks + static_cast<std::uint64_t>(to);
  return ((pair * 256 + device) * kChannels + channel) << 28 | ((number + 1) & 0xfffffff);
}

template <class Call>
SendResult TracedPort::traced(const network::Outgoing& outgoing, std::size_t size,
                              const Call& call) noexcept {
  TraceEvent event = this->event("sent", name_of(outgoing.channel, false), outgoing.peer);
  event.phase = TraceEvent::Phase::slice;
  event.has_size = true;
  event.size = size;
  event.has_tag = outgoing.channel == static_cast<std::uint8_t>(Channel::send) ||
                  outgoing.channel == static_cast<std::uint8_t>(Channel::send_rts);
  event.tag = outgoing.word;
  SendResult result;
  {
    // Numbers are taken in the order of the messages. Sends call nothing that could re-enter here.
    const std::lock_guard lock(sending_);
    event.begin_ns = base::now_ns();
    result = call();
    if (result == SendResult::sent) {
      Sent& sent = sent_[{outgoing.peer, outgoing.device, outgoing.channel}];
      if (sent.messages == 0) sent.traffic = outgoing.traffic;
      sent.is_mixed = sent.is_mixed || sent.traffic != outgoing.traffic;
      if (port_->peer_capabilities(outgoing.peer).keeps_order && tracer_.has_one_device() && !sent.is_mixed)
        event.flow = flow(tracer_.rank(), outgoing.peer, outgoing.device, outgoing.channel, sent.messages);
      ++sent.messages;
    }
  }
  if (result == SendResult::sent) {
    event.duration_ns = base::now_ns() - event.begin_ns;
    tracer_.add(event);
  } else {
    event.phase = TraceEvent::Phase::instant;
    event.category = "refused";
    event.detail = text_of(result);
    tracer_.add_repeating(event);
  }
  return result;
}

template <class Call>
AccessResult TracedPort::traced(const char* name, int peer, std::size_t size, const Call& call) noexcept {
  TraceEvent event = this->event("sent", name, peer);
  event.phase = TraceEvent::Phase::slice;
  event.has_size = true;
  event.size = size;
  const AccessResult result = call();
  event.detail = text_of(result);
  const bool is_accepted = result == AccessResult::done || result == AccessResult::posted;
  if (is_accepted) {
    event.duration_ns = base::now_ns() - event.begin_ns;
    tracer_.add(event);
  } else if (result != AccessResult::unsupported) {
    event.phase = TraceEvent::Phase::instant;
    event.category = "refused";
    tracer_.add_repeating(event);
  }
  return result;
}

SendResult TracedPort::send(const network::Outgoing& outgoing, Bytes payload) noexcept {
  return traced(outgoing, payload.size(), [&] { return port_->send(outgoing, payload); });
}

SendResult TracedPort::send_packet(const network::Outgoing& outgoing, std::uint32_t packet,
                                   std::size_t size) noexcept {
  return traced(outgoing, size, [&] { return port_->send_packet(outgoing, packet, size); });
}

bool TracedPort::read(int peer, std::uint64_t address, std::span<std::byte> local) noexcept {
  TraceEvent event = this->event("sent", "read the sender's memory", peer);
  event.phase = TraceEvent::Phase::slice;
  event.has_size = true;
  event.size = local.size();
  const bool is_read = port_->read(peer, address, local);
  event.detail = is_read ? "done" : "impossible";
  event.duration_ns = base::now_ns() - event.begin_ns;
  tracer_.add(event);
  return is_read;
}

AccessResult TracedPort::put(int peer, const network::RemoteMemory& to, Bytes from,
                             const std::uint64_t* immediate, std::uint64_t token) noexcept {
  return traced("put by the network", peer, from.size(),
                [&] { return port_->put(peer, to, from, immediate, token); });
}

AccessResult TracedPort::get(int peer, const network::RemoteMemory& from, std::span<std::byte> to,
                             std::uint64_t token) noexcept {
  return traced("get by the network", peer, to.size(), [&] { return port_->get(peer, from, to, token); });
}

AccessResult TracedPort::atomic(int peer, const network::RemoteMemory& where,
                                const network::NativeAtomic& change, std::byte* old,
                                std::uint64_t token) noexcept {
  return traced("atomic operation by the network", peer, sizeof change.operand,
                [&] { return port_->atomic(peer, where, change, old, token); });
}

bool TracedPort::reclaim(int peer) noexcept {
  const bool is_over = port_->reclaim(peer);
  if (is_over) tracer_.add(event("failure", "failed rank given up", peer));
  return is_over;
}

std::size_t TracedPort::poll(network::Sink& sink, std::size_t limit) noexcept {
  TraceEvent event = this->event("progress", "poll", TraceEvent::kNobody);
  TracedSink traced_sink(*this, sink);
  const std::size_t count = port_->poll(traced_sink, limit);
  if (count == 0) return 0;
  event.phase = TraceEvent::Phase::slice;
  event.has_size = true;
  event.size = count;
  event.duration_ns = base::now_ns() - event.begin_ns;
  tracer_.add(event);
  return count;
}

bool TracedPort::park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept {
  TraceEvent event = this->event("wait", "park", TraceEvent::kNobody);
  event.phase = TraceEvent::Phase::slice;
  const bool is_woken = port_->park(token, bits, limit);
  event.duration_ns = base::now_ns() - event.begin_ns;
  tracer_.add(event);
  return is_woken;
}

void TracedPort::wake(std::uint32_t bits) noexcept {
  tracer_.add(event("wait", "wake others", TraceEvent::kNobody));
  port_->wake(bits);
}

}  // namespace weft::detail
