#include "network/ibv/connection/device_events.hpp"

#include <string>

namespace weft::network::ibv {

DeviceEvents::DeviceEvents(Device& device, session::Peers& peers, const base::Log& log)
    : device_(device), peers_(peers), log_(log) {
  set_not_waiting(descriptor(), "the events of a device");
}

void DeviceEvents::look() noexcept {
  ibv_async_event event{};
  while (verbs().get_async_event(&device_.context(), &event) == 0) {
    handle(event);
    verbs().ack_async_event(&event);
  }
}

void DeviceEvents::handle(const ibv_async_event& event) noexcept {
  const std::string text = verbs().event_type_str(event.event_type);
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      if (event.element.qp->qp_context == mark_of_accesses()) return;
      if (event.element.qp->qp_context == nullptr)
        log_.error("the queue pair for greetings has failed, peers that were not met cannot be reached: " +
                   text);
      else
        peers_.mark_left(static_cast<int>(reinterpret_cast<std::uintptr_t>(event.element.qp->qp_context) - 1),
                         "its queue pair has failed: " + text);
      return;
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_DEVICE_FATAL:
      for (int rank = 0; rank < peers_.size(); ++rank)
        if (rank != peers_.rank()) peers_.mark_left(rank, device_.describe() + " has failed: " + text);
      return;
    case IBV_EVENT_PORT_ERR:
      log_.warn(device_.describe() + " is down, packets are sent again for a while: " + text);
      return;
    default:
      log_.info([&] { return device_.describe() + ": " + text; });
  }
}

}  // namespace weft::network::ibv
