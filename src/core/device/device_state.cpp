#include "core/device/device_state.hpp"

#include "base/clock.hpp"
#include "concurrent/thread_number.hpp"
#include "core/device/forked_port.hpp"
#include "core/device/waiting.hpp"
#include "core/protocol/traced_port.hpp"
#include "core/runtime/runtime_state.hpp"

#include <weft/error.hpp>

#include <string>
#include <thread>

namespace weft::detail {

using base::Attribute;

namespace {

/// The next number for a device; numbers are unique in the process, over all runtimes.
std::atomic<std::uint32_t> next_keeper{1};

std::chrono::nanoseconds to_nanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

core::Context make_context(RuntimeState& runtime, network::Port& port, core::DeviceCounts& counts,
                           core::ImmediateEnds& ends, core::Losses& losses, std::uint32_t index,
                           std::uint32_t keeper) {
  const base::Attributes& attributes = runtime.attributes();
  return {
      {&port, &counts},
      runtime.pool(),
      runtime.exposures(),
      runtime.counters(),
      runtime.log(),
      {port.capabilities().inline_bytes, runtime.pool().payload()},
      static_cast<core::Transfer>(attributes.integer(Attribute::rendezvous)),
      static_cast<std::uint32_t>(attributes.integer(Attribute::requests)),
      index,
      runtime.regions(),
      static_cast<core::AccessPath>(attributes.integer(Attribute::one_sided)),
      runtime.rank(),
      runtime.size(),
      ends,
      runtime.payload_device_index() == index ? nullptr : runtime.payload_device(),
      &counts,
      runtime.tracer(),
      &losses,
      static_cast<std::size_t>(attributes.integer(Attribute::rendezvous_bytes)),
      keeper,
      port.capabilities().stages,
      port.capabilities().lane_bytes != 0,
      {std::max(port.capabilities().inline_bytes, port.capabilities().lane_bytes), runtime.pool().payload()}};
}

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
      port_(open_port(runtime, index, hidden_path_ != nullptr ? *hidden_path_ : path_)),
      keeper_(next_keeper.fetch_add(1, std::memory_order_relaxed)),
      ends_(*port_, keeper_),
      arrivals_before_(runtime.credit_ledgers(index).arrivals().all),
      context_(make_context(runtime, *port_, counts_, ends_, losses_, index, keeper_)),
      rendezvous_(context_),
      multipart_messages_(context_, rendezvous_),
      one_sided_(context_),
      matched_messages_(context_, hidden_path_ != nullptr ? *hidden_path_ : path_, runtime.matching_engines(),
                        runtime.credit_ledgers(index), runtime.send_credits(index), rendezvous_),
      backlog_(runtime.size(), static_cast<std::uint32_t>(runtime.attributes().integer(Attribute::backlog)),
               static_cast<std::uint32_t>(runtime.attributes().integer(Attribute::backlog_peer)),
               runtime.attributes().boolean(Attribute::backlog_grows), keeper_),
      vectored_accesses_(context_, one_sided_, backlog_, rendezvous_.working()),
      deadlines_(runtime.deadlines(index)),
      posts_{context_, path_, backlog_, timed_posts_, refused_nodes_},
      active_messages_(posts_, rendezvous_),
      sends_(posts_, runtime.matching_engines(), matched_messages_.sender()),
      receives_(posts_, runtime.matching_engines(), runtime.failures(), matched_messages_.receiver()),
      multipart_posts_(posts_, multipart_messages_, active_messages_),
      queued_posts_(context_, active_messages_, sends_, receives_, multipart_posts_, one_sided_),
      spin_ns_(runtime.attributes().integer(Attribute::spin) * 1000),
      yield_(static_cast<std::uint32_t>(runtime.attributes().integer(Attribute::yield))),
      poll_yield_(runtime.attributes().boolean(Attribute::poll_yield)),
      park_(to_nanoseconds(runtime.attributes().seconds(Attribute::park_timeout))),
      timed_posts_(context_, deadlines_, rendezvous_.awaiting()),
      device_deadlines_(deadlines_, {receives_, queued_posts_, backlog_, rendezvous_, vectored_accesses_},
                        runtime.failures(), working_),
      device_failures_(runtime, context_, port_,
                       {rendezvous_, one_sided_, backlog_, queued_posts_, deadlines_}, working_) {
  ends_.set_working(rendezvous_.working());
  empty_polls_yield.store(poll_yield_, std::memory_order_relaxed);
  path_.own_device = static_cast<std::uint8_t>(index);
  if (runtime.payload_device_index() == index) runtime.payload_device()->open(rendezvous_);
  // Receives of an earlier device with this index may still have a deadline.
  rendezvous_.awaiting().fetch_add(deadlines_.count(), std::memory_order_relaxed);
}

DeviceState::~DeviceState() {
  runtime_.stop_visits(*this);
  // Messages that are posted from now on do not find the device; those that it has accepted end below.
  if (runtime_.payload_device_index() == index_) runtime_.payload_device()->close();
  drain();
  runtime_.forget_device(index_);
}

DeviceAttributes DeviceState::attributes() const noexcept {
  DeviceAttributes attributes = runtime_.device_limits();
  attributes.index = index_;
  attributes.is_serial = endpoints_.load(std::memory_order_relaxed) < 0;
  return attributes;
}

void DeviceState::close_in_forked_child() noexcept {
  network::Port& forked = ForkedPort::instance();
  // The parent's network stays as it is; this process has only a copy of the parent's state.
  static_cast<void>(port_.release());
  port_.reset(&forked);
  context_.port.replace(forked);
  context_.ranks = 0;  // there are no peers: accesses are refused
}

void DeviceState::open_endpoint(bool exclusive) {
  base::refuse_in_forked_copy("Endpoint");
  std::int32_t open = endpoints_.load(std::memory_order_relaxed);
  do {
    if (exclusive && open != 0)
      throw Error("device " + std::to_string(index_) +
                  " has another endpoint already: a SerialEndpoint takes its " + "device for itself");
    if (!exclusive && open < 0)
      throw Error("device " + std::to_string(index_) +
                  " belongs to a SerialEndpoint: open another device for " + "this Endpoint");
  } while (!endpoints_.compare_exchange_weak(open, exclusive ? -1 : open + 1, std::memory_order_acq_rel));
  matched_messages_.set_exclusive(exclusive);
}

void DeviceState::close_endpoint(bool exclusive) noexcept {
  const bool is_last = exclusive || endpoints_.load(std::memory_order_relaxed) == 1;
  if (is_last && !base::is_forked_copy())
    if (const std::string user = runtime_.users().last(static_cast<int>(index_)); !user.empty())
      refuse_early_end(name(exclusive ? "SerialEndpoint" : "Endpoint"), user);
  if (exclusive)
    endpoints_.store(0, std::memory_order_release);
  else
    endpoints_.fetch_sub(1, std::memory_order_release);
}

bool DeviceState::drained() noexcept {
  // In the order in which a message moves on: a message that is counted in the next place before it leaves
  // the previous one is not missed.
  if (!backlog_.has_no_messages() || rendezvous_.sender().sending() != 0) return false;
  if (context_.payloads != nullptr) {
    const core::PayloadDevice::Visit visit(context_.payloads);
    if (visit.device() != nullptr && visit.device()->sender().sending() != 0) return false;
  }
  return port_->drained();
}

void DeviceState::quiesce() noexcept {
  port_->quiesce();
  // Large messages are delivered by work(), outside of any lane.
  working_.await_exit(concurrent::thread_number());
}

}  // namespace weft::detail
