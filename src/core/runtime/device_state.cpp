#include "core/runtime/device_state.hpp"

#include "base/clock.hpp"
#include "concurrent/thread_number.hpp"
#include "core/runtime/runtime_state.hpp"
#include "core/runtime/traced_port.hpp"

#include <weft/error.hpp>

#include <string>
#include <thread>

namespace weft::detail {

using base::Attribute;

namespace {

constexpr std::uint32_t kYieldsOfDrain = 32;  // rounds, before it sleeps in between

std::chrono::nanoseconds to_nanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

core::Context make_context(RuntimeState& runtime, network::Port& port, core::DeviceCounts& counts,
                           std::uint32_t index) {
  const base::Attributes& attributes = runtime.attributes();
  const bool read = attributes.text(Attribute::rendezvous) == "read" && port.capabilities().can_read;
  return {{&port, &counts},
          runtime.pool(),
          runtime.exposures(),
          runtime.counters(),
          runtime.log(),
          {port.capabilities().inline_bytes, runtime.pool().payload()},
          read ? core::Transfer::read : core::Transfer::copy,
          static_cast<std::uint32_t>(attributes.integer(Attribute::requests)),
          index,
          runtime.regions(),
          static_cast<core::AccessPath>(attributes.integer(Attribute::one_sided)),
          runtime.rank(),
          runtime.size(),
          runtime.payload_device_index() == index ? nullptr : runtime.payload_device(),
          &counts,
          runtime.tracer()};
}

std::unique_ptr<network::Port> open_port(RuntimeState& runtime, std::uint32_t index, DevicePath& path) {
  std::unique_ptr<network::Port> port = runtime.network().open_port(index, path);
  if (runtime.tracer() == nullptr) return port;
  return std::make_unique<TracedPort>(std::move(port), *runtime.tracer(), index, runtime.size());
}

}  // namespace

DeviceState::DeviceState(RuntimeState& runtime, std::uint32_t index)
    : runtime_(runtime),
      index_(index),
      hidden_path_(runtime.tracer() != nullptr ? std::make_unique<DevicePath>() : nullptr),
      port_(open_port(runtime, index, hidden_path_ != nullptr ? *hidden_path_ : path_)),
      arrivals_before_(runtime.credit_ledgers(index).arrivals().all),
      context_(make_context(runtime, *port_, counts_, index)),
      large_messages_(context_),
      vectored_messages_(context_, large_messages_),
      one_sided_(context_),
      send_receive_(context_, hidden_path_ != nullptr ? *hidden_path_ : path_, runtime.matching_engines(),
                    runtime.credit_ledgers(index), large_messages_, runtime.size(),
                    static_cast<std::uint32_t>(runtime.attributes().integer(Attribute::unexpected_credits))),
      backlog_(runtime.size(), static_cast<std::uint32_t>(runtime.attributes().integer(Attribute::backlog)),
               static_cast<std::uint32_t>(runtime.attributes().integer(Attribute::backlog_peer))),
      vectored_accesses_(context_, one_sided_, backlog_, large_messages_.working()),
      deadlines_(runtime.deadlines(index)),
      spin_ns_(runtime.attributes().integer(Attribute::spin) * 1000),
      yield_(static_cast<std::uint32_t>(runtime.attributes().integer(Attribute::yield))),
      park_(to_nanoseconds(runtime.attributes().seconds(Attribute::park_timeout))),
      failures_(&runtime.failures().word()),
      buried_(new std::atomic<bool>[static_cast<std::size_t>(runtime.size())]()) {
  path_.own_device = static_cast<std::uint8_t>(index);
  if (runtime.payload_device_index() == index) runtime.payload_device()->open(large_messages_);
  // Receives of an earlier device with this index may still have a deadline.
  large_messages_.awaiting().fetch_add(deadlines_.count(), std::memory_order_relaxed);
}

DeviceState::~DeviceState() {
  // Messages that are posted from now on find none; what it has taken on it ends below.
  if (runtime_.payload_device_index() == index_) runtime_.payload_device()->close();
  drain();
  runtime_.forget_device(index_);
}

DeviceAttributes DeviceState::attributes() const noexcept {
  const auto number = [this](Attribute attribute) {
    return static_cast<std::uint32_t>(runtime_.attributes().integer(attribute));
  };
  return {.network = runtime_.network().name(),
          .index = index_,
          .is_serial = endpoints_.load(std::memory_order_relaxed) < 0,
          .inline_bytes = context_.limits.inline_bytes,
          .packet_bytes = context_.limits.packet_bytes,
          .immediate_bytes = port_->capabilities().immediate_bytes,
          .reads_peers = context_.transfer == core::Transfer::read,
          .requests = context_.requests,
          .backlog = number(Attribute::backlog),
          .unexpected_credits = number(Attribute::unexpected_credits)};
}

void DeviceState::open_endpoint(bool exclusive) {
  std::int32_t open = endpoints_.load(std::memory_order_relaxed);
  do {
    if (exclusive && open != 0)
      throw Error("device " + std::to_string(index_) +
                  " has another endpoint already: a SerialEndpoint takes its " + "device for itself");
    if (!exclusive && open < 0)
      throw Error("device " + std::to_string(index_) +
                  " belongs to a SerialEndpoint: open another device for " + "this Endpoint");
  } while (!endpoints_.compare_exchange_weak(open, exclusive ? -1 : open + 1, std::memory_order_acq_rel));
  send_receive_.set_exclusive(exclusive);
}

void DeviceState::close_endpoint(bool exclusive) noexcept {
  if (exclusive)
    endpoints_.store(0, std::memory_order_release);
  else
    endpoints_.fetch_sub(1, std::memory_order_release);
}

void DeviceState::drain() noexcept {
  // Nobody uses the device any more: this thread has it for itself, whatever its endpoints were.
  const auto deadline = std::chrono::steady_clock::now() +
                        to_nanoseconds(runtime_.attributes().seconds(Attribute::drain_timeout));
  const auto finished = [&] {
    return backlog_.empty() && large_messages_.outstanding() == 0 && one_sided_.outstanding() == 0 &&
           vectored_accesses_.outstanding() == 0 && port_->drained();
  };
  const std::int64_t begin = base::now_ns();
  for (std::uint32_t round = 0; !finished(); ++round) {
    if (progress(false) != 0) continue;
    end_lost_operations(false);
    if (std::chrono::steady_clock::now() > deadline) {
      std::string what = port_->undelivered();
      const auto add = [&](std::uint32_t count, const char* kind) {
        if (count != 0) what += (what.empty() ? "" : ", ") + std::to_string(count) + kind;
      };
      add(backlog_.size(), " refused operations in the backlog");
      add(large_messages_.outstanding(), " large messages under way");
      add(one_sided_.outstanding(), " puts and gets under way");
      add(vectored_accesses_.outstanding(), " vectored puts and gets under way");
      runtime_.log().warn("device " + std::to_string(index_) +
                          " closes with operations that have not ended within " +
                          std::string(runtime_.attributes().text(Attribute::drain_timeout)) + ": " + what);
      return;
    }
    if (round < kYieldsOfDrain)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  runtime_.log().info([&] {
    return "device " + std::to_string(index_) + " closes, drained in " +
           std::to_string((base::now_ns() - begin) / 1000) + " microseconds";
  });
}

void DeviceState::quiesce() noexcept {
  port_->quiesce();
  // Large messages are delivered by work(), outside of any lane.
  working_.await_exit(concurrent::thread_number());
}

}  // namespace weft::detail
