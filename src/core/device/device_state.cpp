#include "core/device/device_state.hpp"

#include "base/clock.hpp"
#include "concurrent/thread_number.hpp"
#include "core/completion/object_end.hpp"
#include "core/device/forked_port.hpp"
#include "core/device/waiting.hpp"
#include "core/protocol/traced_port.hpp"
#include "core/runtime/runtime_state.hpp"
#include "network/unsent.hpp"

#include <weft/error.hpp>

#include <string>
#include <thread>

namespace weft::detail {

using base::Attribute;

namespace {

std::unique_ptr<network::Port> open_port(RuntimeState& runtime, std::uint32_t index, DevicePath& path) {
  std::unique_ptr<network::Port> port = runtime.network().open_port(index, path);
  if (runtime.tracer() == nullptr) return port;
  return std::make_unique<TracedPort>(std::move(port), *runtime.tracer(), index, runtime.size());
}

}  // namespace

DeviceState::DeviceState(RuntimeState& runtime, std::uint32_t index)
    : OpenDevice(index),
      runtime_(runtime),
      hidden_path_(runtime.tracer() != nullptr ? std::make_unique<DevicePath>() : nullptr),
      port_(open_port(runtime, index, lanes())),
      endpoints_(runtime, index),
      arrivals_before_(runtime.accounts().credit_ledgers(index).arrivals().all),
      arrivals_(runtime, index, *port_, path_, lanes(), endpoints_),
      poll_yield_(runtime.attributes().boolean(Attribute::poll_yield)),
      deadlines_(protocols().deadlines,
                 {protocols().receives, protocols().queued_posts, protocols().backlog, protocols().rendezvous,
                  protocols().vectored_accesses},
                 runtime.failures(), protocols().working),
      failures_(runtime, protocols().context, port_,
                {protocols().rendezvous, protocols().one_sided, protocols().backlog, protocols().queued_posts,
                 protocols().deadlines},
                protocols().working),
      waits_(*this, runtime, protocols(), failures_, port_) {
  empty_polls_yield.store(poll_yield_, std::memory_order_relaxed);
  path_.own_device = static_cast<std::uint8_t>(index);
  path_.runtime = &runtime;
  if (runtime.payload_device_index() == index) runtime.payload_device()->open(protocols().rendezvous);
}

DeviceState::~DeviceState() {
  runtime_.devices().stop_visits(*this);
  // Messages that are posted from now on do not find the device; those that it has accepted end below.
  if (runtime_.payload_device_index() == index_) runtime_.payload_device()->close();
  drain();
  runtime_.devices().forget(index_);
}

DeviceAttributes DeviceState::attributes() const noexcept {
  DeviceAttributes attributes = runtime_.device_limits();
  attributes.index = index_;
  attributes.is_serial = endpoints_.is_serial();
  return attributes;
}

void DeviceState::close_in_forked_child() noexcept {
  network::Port& forked = ForkedPort::instance();
  // The parent's network stays as it is; this process has only a copy of the parent's state.
  static_cast<void>(port_.release());
  port_.reset(&forked);
  protocols().context.port.replace(forked);
  protocols().context.ranks = 0;  // there are no peers: accesses are refused
}

void DeviceState::open_endpoint(bool serial) {
  endpoints_.open(serial);
  set_exclusive(serial);
}

void DeviceState::close_endpoint(bool serial) noexcept {
  if (serial) set_exclusive(false);
  endpoints_.close(serial);
}

void DeviceState::set_exclusive(bool exclusive) noexcept {
  port_->set_exclusive(exclusive);
  protocols().matched_messages.set_exclusive(exclusive);
}

bool DeviceState::drained() noexcept {
  // In the order in which a message moves on: a message that is counted in the next stage before it leaves
  // the previous one is not missed.
  if (!protocols().backlog.has_no_messages() || protocols().rendezvous.sender().sending() != 0) return false;
  if (protocols().context.payloads != nullptr) {
    const core::PayloadDevice::Visit visit(protocols().context.payloads);
    if (visit.device() != nullptr && visit.device()->sender().sending() != 0) return false;
  }
  return port_->drained();
}

void DeviceState::quiesce() noexcept {
  // Who is inside of a lane may want something of a device that this thread is inside of, too.
  const concurrent::WhileWaiting granting(&core::WorkTurn::grant_wishes_of_others);
  port_->quiesce();
  // Large messages are delivered by work(), outside of any lane.
  protocols().working.await_exit(concurrent::thread_number());
}

void DeviceState::give_way() noexcept {
  core::WorkTurn::grant_wishes_of_others();
  std::this_thread::yield();
}

// Sends what was accepted, for a thread that waits for other ranks and not for this device: see
// core/runtime/runtime_carry.cpp.
bool DeviceState::carry() noexcept {
  const auto posts_again = [this] {
    return endpoints_.is_shared() && (protocols().has_refused_work() || NodeRefusals::any());
  };
  if (core::SignalScope::is_inside()) return false;  // in a handler: the call up the stack goes on with them
  if (posts_again()) {
    const core::SignalScope scope(protocols().ends);
    protocols().work({.exclusive = false});
    if (NodeRefusals::any()) static_cast<void>(protocols().refused_nodes.retry(false));
  }
  if (auto* const port = dynamic_cast<network::HoldsUnsent*>(port_.get())) port->carry();
  return posts_again();
}

void DeviceState::progress_for_end() noexcept {
  if (progress() == 0) failures_.complete_lost_operations(caller());
}

void DeviceState::describe_refusals(std::vector<std::string>& notes) const {
  protocols().rendezvous.receiver().admission().describe_refusals(notes);
  if (auto* const port = dynamic_cast<network::HoldsUnsent*>(port_.get())) port->describe_unsent(notes);
}

}  // namespace weft::detail
