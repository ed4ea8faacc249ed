#include "core/device/blocking.hpp"

#include "core/deadline/timeout.hpp"
#include "core/device/call_name.hpp"
#include "core/device/until_accepted.hpp"
#include "core/wait/one_message.hpp"

namespace weft::core {

using detail::OneMessage;
using detail::TimeLeft;
using detail::WaitDescription;

Outcome send_am(detail::DeviceState& device, int peer, RemoteCompletion remote, Bytes bytes,
                const ActiveMessageOptions& options, const std::source_location& where, Caller caller) {
  ActiveMessageOptions patient = options;
  OneMessage sent;
  // Without an object of the caller's: the end of what is not done at once, and of what is lost.
  const bool waits = options.completion == nullptr;
  if (waits) {
    patient.completion = &sent;
    patient.may_complete_now = true;
  }
  patient.may_retry = true;
  const WaitDescription description{"an active message to be sent", where, peer};
  const TimeLeft time_left(options.timeout);
  const Status status = device.waits().until_accepted(
      [&] {
        patient.timeout = time_left.left();
        return named("send_am", "post_am", [&] {
          return device.protocols().active_messages.post(peer, remote, bytes, patient, caller);
        });
      },
      description, remote.id());
  if (!waits || !status.is_posted()) return Outcome::ok;
  device.waits().wait_for(sent, description);
  return sent.take().outcome();
}

namespace {

template <class Post>
Outcome send_by(detail::DeviceState& device, int peer, const SendOptions& options,
                const std::source_location& where, const Post& post) {
  SendOptions patient = options;
  patient.may_retry = true;
  OneMessage sent;
  if (options.completion == nullptr) {
    patient.completion = &sent;
    patient.may_complete_now = true;
  }
  const WaitDescription description{"a send", where, peer};
  const TimeLeft time_left(options.timeout);
  const Status status = device.waits().until_accepted(
      [&] {
        patient.timeout = time_left.left();
        return named("send", "post_send", [&] { return post(patient); });
      },
      description);
  if (options.completion != nullptr || !status.is_posted()) return Outcome::ok;
  device.waits().wait_for(sent, description);
  return sent.take().outcome();
}

template <class Post>
Message receive_by(detail::DeviceState& device, const ReceiveOptions& options,
                   const std::source_location& where, const Post& post) {
  OneMessage one;
  Message arrived;
  ReceiveOptions patient = options;
  patient.completion = &one;
  patient.may_retry = true;
  patient.may_complete_now = true;
  patient.arrived = &arrived;
  const WaitDescription description{"a receive", where};
  const TimeLeft time_left(options.timeout);
  const Status status = device.waits().until_accepted(
      [&] {
        patient.timeout = time_left.left();
        return named("receive", "post_receive", [&] { return post(patient); });
      },
      description);
  if (status.is_done()) return arrived;
  device.waits().wait_for(one, description);
  return one.take();
}

}  // namespace

Outcome send(detail::DeviceState& device, int peer, std::uint64_t tag, Bytes bytes,
             const SendOptions& options, const std::source_location& where, Caller caller) {
  return send_by(device, peer, options, where, [&](const SendOptions& patient) {
    return device.protocols().sends.post(peer, tag, bytes, patient, caller);
  });
}

Outcome send(detail::DeviceState& device, int peer, std::uint64_t tag, std::span<const Bytes> parts,
             const SendOptions& options, const std::source_location& where, Caller caller) {
  return send_by(device, peer, options, where, [&](const SendOptions& patient) {
    return device.protocols().sends.post(peer, tag, parts, patient, caller);
  });
}

Message receive(detail::DeviceState& device, int source, std::uint64_t tag, MutableBytes buffer,
                const ReceiveOptions& options, const std::source_location& where) {
  return receive_by(device, options, where, [&](const ReceiveOptions& patient) {
    return patient.timeout.count() == 0
               ? device.protocols().receives.post(source, tag, buffer, patient)
               : device.protocols().receives.post_within(source, tag, buffer, patient);
  });
}

Message receive(detail::DeviceState& device, int source, std::uint64_t tag,
                std::span<const MutableBytes> buffers, const ReceiveOptions& options,
                const std::source_location& where) {
  return receive_by(device, options, where, [&](const ReceiveOptions& patient) {
    return device.protocols().receives.post_parts(source, tag, buffers, patient);
  });
}

}  // namespace weft::core
