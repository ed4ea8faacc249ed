#include "core/wait/blocking.hpp"

#include "core/deadline/timeout.hpp"
#include "core/wait/one_message.hpp"
#include "core/wait/until_accepted.hpp"

namespace weft::core {

using detail::OneMessage;
using detail::TimeLeft;
using detail::WaitPlace;

Outcome send_am(detail::DeviceState& device, int peer, RemoteCompletion remote, Bytes bytes,
                const ActiveMessageOptions& options, const std::source_location& where, Caller caller) {
  ActiveMessageOptions patient = options;
  OneMessage sent;
  const bool wait_for_buffer =
      options.completion == nullptr &&
      (options.timeout.count() != 0 || !device.active_messages().is_copied(bytes.size()));
  if (wait_for_buffer) {
    patient.completion = &sent;
    patient.may_complete_now = true;
  }
  patient.may_retry = true;
  const WaitPlace place{"an active message to be sent", where, peer};
  const TimeLeft time_left(options.timeout);
  const Status status = device.until_accepted(
      [&] {
        patient.timeout = time_left.left();
        return device.active_messages().post(peer, remote, bytes, patient, caller);
      },
      place, caller.exclusive);
  if (!wait_for_buffer || !status.is_posted()) return Outcome::ok;
  device.wait_for(sent, place, caller.exclusive);
  return sent.take().outcome();
}

}  // namespace weft::core
