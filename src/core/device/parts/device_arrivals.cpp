#include "core/device/parts/device_arrivals.hpp"

#include "core/completion/allocator_access.hpp"
#include "core/protocol/active_message/deliver.inl.hpp"
#include "core/runtime/runtime_state.hpp"

#include <string>

namespace weft::detail {

using core::Channel;

DeviceArrivals::DeviceArrivals(RuntimeState& runtime, std::uint32_t index, network::Port& port,
                               DevicePath& path, DevicePath& lanes, const DeviceEndpoints& endpoints)
    : protocols_(runtime, index, port, path, lanes), endpoints_(endpoints), failures_(runtime.failures()) {}

// Asks once what the messages lie in. Only jumps, without a frame: other storages than that of a single
// active message have functions of their own.
void DeviceArrivals::deliver(network::Batch& batch) noexcept {
  using Storage = network::Batch::Storage;
  switch (batch.storage()) {
    case Storage::slots:
      return take_batch(batch.slots(), batch.lender());
    case Storage::multi_slots:
      return take_batch(batch.multi_slots(), batch.lender());
    case Storage::reused_slot:
      return take_from_slot(batch);
    case Storage::message:
      break;
  }
  if (batch.channel() != kActiveMessageChannel) return take_message(batch);
  if (protocols_.backlog.over_limit()) [[unlikely]]
    return batch.leave();
  protocols_.active_messages.deliver(batch);
}

template <class Messages>
void DeviceArrivals::take_batch(Messages& messages, PayloadLender* lender) noexcept {
  if (messages.channel() == kActiveMessageChannel)
    protocols_.active_messages.deliver_batch(messages, lender);
  else if (messages.channel() == static_cast<std::uint8_t>(Channel::send)) [[likely]]
    protocols_.matched_messages.arrivals().on_sends(messages, lender, *this, protocols_.backlog);
  else
    network::take_each(messages, lender, [this](std::uint8_t channel, std::uint64_t word, Message& message) {
      return deliver_slow(channel, word, message);
    });
}

/// Takes an active message whose slot its network needs again.
void DeviceArrivals::take_from_slot(network::Batch& batch) noexcept {
  if (protocols_.backlog.over_limit()) [[unlikely]]
    return batch.leave();
  // A message for which an allocator has no room stays where it is.
  if (AllocatorAccess::any_takes_every_size()) [[unlikely]]
    return protocols_.active_messages.deliver(batch);
  protocols_.active_messages.free_slot_and_deliver(batch);
}

/// Takes a single message that is not an active message.
void DeviceArrivals::take_message(network::Batch& batch) noexcept {
  const std::uint64_t word = batch.word();
  Message& message = batch.message();
  const bool is_taken = batch.channel() == static_cast<std::uint8_t>(Channel::send)
                            ? !protocols_.backlog.over_limit() &&
                                  protocols_.matched_messages.arrivals().on_send(word, message, *this)
                            : deliver_slow(batch.channel(), word, message);
  if (!is_taken) [[unlikely]]
    batch.leave();
}

bool DeviceArrivals::deliver_slow(std::uint8_t channel, std::uint64_t word, Message& message) noexcept {
  switch (static_cast<Channel>(channel)) {
    case Channel::answer: {
      // Accepted when requests are not: the poster's handlers wait for the answer, and requests to them may,
      // too.
      if (protocols_.backlog.almost_full()) return false;
      network::Batch single(channel, word, message);
      protocols_.active_messages.deliver(single);
      return single.is_taken();
    }
    case Channel::put_signal:
    case Channel::get_signal:
    case Channel::atomic_signal:
      // Accepted when requests are not, as answers are: the operations of handlers end by these signals.
      if (protocols_.backlog.almost_full()) return false;
      return protocols_.one_sided.deliver(static_cast<Channel>(channel), word, message, *this);
    default:
      break;
  }
  const std::size_t size = message.size();  // it may be moved from
  const bool is_taken = deliver_control(channel, word, message);
  if (is_taken) protocols_.counts.received.add(channel, size, endpoints_.is_serial());
  return is_taken;
}

/// Delivers messages between protocols.
bool DeviceArrivals::deliver_control(std::uint8_t channel, std::uint64_t word, Message& message) noexcept {
  switch (static_cast<Channel>(channel)) {
    case Channel::rts:
      return !protocols_.backlog.over_limit() && protocols_.rendezvous.on_rts(word, message, *this);
    case Channel::multipart_rts:
      return !protocols_.backlog.over_limit() && protocols_.multipart_messages.on_rts(word, message, *this);
    case Channel::cts:
      protocols_.rendezvous.sender().on_cts(message, *this);
      return true;
    case Channel::rendezvous_data:
      protocols_.rendezvous.receiver().on_data(word, message, *this);
      return true;
    case Channel::clear_to_put:
      protocols_.rendezvous.sender().on_clear_to_put(message, *this);
      return true;
    case Channel::fin:
      protocols_.rendezvous.sender().on_fin(message, *this);
      return true;
    case Channel::put:
    case Channel::atomic:
      if (word != 0 && protocols_.backlog.almost_full()) return false;
      return protocols_.one_sided.deliver(static_cast<Channel>(channel), word, message, *this);
    case Channel::get:
    case Channel::get_data:
    case Channel::access_completed:
    case Channel::atomic_completed:
      return protocols_.one_sided.deliver(static_cast<Channel>(channel), word, message, *this);
    case Channel::send_rts:
      return !protocols_.backlog.over_limit() &&
             protocols_.matched_messages.arrivals().on_send_rts(word, message, *this);
    case Channel::cancel:
      on_cancel(word, message);
      return true;
    case Channel::cancelled:
      protocols_.rendezvous.sender().on_cancelled(message, failures_.count() != 0, *this);
      return true;
    case Channel::refused:
      protocols_.rendezvous.sender().on_refused(message, *this);
      return true;
    case Channel::credit:
      protocols_.matched_messages.sender().credits().on_credit(word, message, *this);
      return true;
    default:
      break;
  }
  reject(message.peer(), "message on an unknown channel", channel);
  return true;
}

/// Handles a cancel: the deadline of a peer's operation has passed.
void DeviceArrivals::on_cancel(std::uint64_t word, const Message& message) noexcept {
  core::Cancel cancel{};
  if (!core::Rendezvous::read_cancel(message, cancel, *this)) return;
  if (word == 1)
    protocols_.matched_messages.receiver().forget_announced(message.peer(), cancel);
  else
    protocols_.rendezvous.forget_unexpected(message.peer(), cancel);
}

void DeviceArrivals::access_completed(std::uint64_t token, Outcome outcome) noexcept {
  if (core::RendezvousReceiver::is_fetch(token))
    protocols_.rendezvous.receiver().fetch_completed(token, outcome);
  else if (core::RendezvousSender::is_put(token))
    protocols_.rendezvous.sender().put_completed(token, outcome);
  else
    protocols_.one_sided.requests().access_completed(token, outcome);
}

void DeviceArrivals::immediate_arrived(int peer, std::uint64_t immediate, std::size_t bytes) noexcept {
  protocols_.one_sided.target().immediate_arrived(peer, immediate, bytes);
}

void DeviceArrivals::landed(std::uint64_t name, std::size_t bytes) noexcept {
  protocols_.rendezvous.receiver().landed(name, bytes, *this);
}

void DeviceArrivals::reject(int peer, const char* what, std::uint64_t value) noexcept {
  const std::uint64_t count =
      protocols_.context.counters.refused_messages.fetch_add(1, std::memory_order_relaxed) + 1;
  if (core::is_reported(count))
    protocols_.context.log.warn("refused what rank " + std::to_string(peer) + " sent: " + what + " (" +
                                std::to_string(value) + "), " + std::to_string(count) + " so far");
}

}  // namespace weft::detail
