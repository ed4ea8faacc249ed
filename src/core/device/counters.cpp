// The counters of a device: those that are counted, and those that are derived.
#include "core/device/device_state.hpp"
#include "core/protocol/wire.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::detail {

using core::Channel;

namespace {

/// Returns the difference of counts that were not read at the same time, at least 0.
constexpr std::uint64_t without(std::uint64_t all, std::uint64_t some) noexcept {
  return all > some ? all - some : 0;
}

constexpr Channel kActiveMessages[] = {Channel::active_message, Channel::answer, Channel::put_signal,
                                       Channel::get_signal, Channel::atomic_signal};

}  // namespace

RuntimeCounters DeviceState::counters() noexcept {
  RuntimeCounters result;
  const network::Port::Traffic traffic = port_->traffic();
  const core::ChannelCounts& sent = protocols().counts.sent;
  const core::ChannelCounts& received = protocols().counts.received;

  // Every send takes a credit, and some were not sent by calls; all other messages of inlined posts are
  // active messages and signals.
  const std::uint64_t called_sends = sent.messages(Channel::send) + traffic.multi_slot_sends;
  result.matched_sent = protocols().matched_messages.sender().credits().sends();
  const std::uint64_t inlined_sends = without(result.matched_sent, called_sends);
  result.active_messages_sent = without(traffic.inlined, inlined_sends);
  std::uint64_t called = traffic.multi_slot_messages;
  std::uint64_t eager_bytes = sent.bytes(Channel::send) + traffic.multi_slot_bytes;
  for (const Channel channel : kActiveMessages) {
    called += sent.messages(channel);
    eager_bytes += sent.bytes(channel);
  }
  result.active_messages_sent += called;
  result.inlined_sent = traffic.inlined;
  result.eager_bytes_sent = eager_bytes;
  result.control_sent = without(sent.messages() + traffic.multi_slot_messages + traffic.multi_slot_sends,
                                called + called_sends);
  result.large_sent = protocols().counts.large_sent.value();
  const auto streamed = [](const core::ChannelCounts& counts) {
    return without(counts.bytes(Channel::rendezvous_data),
                   counts.messages(Channel::rendezvous_data) * sizeof(core::DataHeader));
  };
  result.large_bytes_sent = streamed(sent);

  // Every message that arrives is one of three: a send, whose credit the ledger counts; a counted message of
  // the protocols; or an active message.
  const core::CreditLedger::Arrivals arrivals = runtime_.accounts().credit_ledgers(index_).arrivals();
  result.matched_received = without(arrivals.all, arrivals_before_);
  result.control_received = received.messages();
  result.active_messages_received =
      without(traffic.delivered, result.matched_received + result.control_received);
  result.eager_bytes_received = without(traffic.delivered_bytes, received.bytes());
  result.large_received = protocols().counts.large_received.value();
  result.large_arriving_now = protocols().rendezvous.receiver().transfers().in_progress();
  result.large_bytes_received = streamed(received);
  result.large_bytes_read = protocols().counts.large_bytes_read.value();

  result.puts = protocols().counts.puts.value();
  result.put_bytes = protocols().counts.put_bytes.value();
  result.gets = protocols().counts.gets.value();
  result.get_bytes = protocols().counts.get_bytes.value();
  result.atomics = protocols().counts.atomics.value();
  result.accesses_by_messages = protocols().counts.accesses_by_messages.value();

  const auto refused = [this](Reason reason) {
    return protocols().counts.refusals[static_cast<std::size_t>(reason)].value();
  };
  result.refused_no_slot = refused(Reason::no_slot);
  result.refused_no_packet = refused(Reason::no_packet);
  result.refused_no_credit = refused(Reason::no_credit);
  result.refused_no_request = refused(Reason::no_request);
  result.refused_lock_contended = refused(Reason::lock_contended);
  result.refused_backlog = refused(Reason::backlog);
  result.refused_not_ready = refused(Reason::not_ready);
  result.lock_misses = protocols().counts.lock_misses.value();

  result.backlog_posts = protocols().backlog.added();
  result.backlog_now = protocols().backlog.size();
  result.backlog_highest = protocols().backlog.highest();
  result.unexpected_now = arrivals.waiting;
  result.parks = protocols().counts.parks.value();
  result.parks_timed_out = protocols().counts.parks_timed_out.value();
  result.parked_ns = protocols().counts.parked_ns.value();
  result.lanes = traffic.lanes;
  result.lanes_grown = traffic.lanes_grown;
  return result;
}

}  // namespace weft::detail
