#include "network/session/session_network.hpp"

#include "base/clock.hpp"
#include "concurrent/process_barrier.hpp"
#include "network/session/session_port.hpp"

#include <weft/error.hpp>

#include <sys/mman.h>
#include <algorithm>
#include <string>

namespace weft::network::session {

using base::Attribute;

namespace {

std::uint32_t number(const base::Attributes& attributes, Attribute attribute) {
  return static_cast<std::uint32_t>(attributes.integer(attribute));
}

}  // namespace

SessionNetwork::SessionNetwork(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                               base::LogModule module, const NetworkIdentity& identity,
                               std::size_t message_bytes, Attribute credits, Credits how, std::uint32_t held)
    : bootstrap_(bootstrap),
      drain_seconds_(attributes.seconds(Attribute::drain_timeout)),
      log_(attributes, bootstrap.rank(), module),
      peers_(bootstrap, identity, message_bytes, log_),
      shared_{peers_,
              board_,
              log_,
              number(attributes, credits),
              how == Credits::follow_delay ? std::min(number(attributes, credits), kFirstCredits)
                                           : number(attributes, credits),
              how == Credits::follow_delay,
              held,
              attributes.boolean(Attribute::staging),
              courier_} {
  concurrent::register_process_barrier();
}

void SessionNetwork::end() noexcept {
  const std::int64_t until = base::now_ns() + base::seconds_to_ns(drain_seconds_);
  for (auto& device : devices())
    if (device != nullptr)
      if (const std::string lost = device->finish(until); !lost.empty()) {
        log_.error("what was accepted is dropped: its receivers cannot be reached: " + lost);
        bootstrap_.report_loss(lost);
      }
  for (auto& device : devices())
    if (device != nullptr) device->say_goodbye();
  courier_.stop();
}

bool SessionNetwork::has_contacted_itself() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return !lock.owns_lock() || std::any_of(devices().begin(), devices().end(), [this](const auto& device) {
    return device != nullptr && device->links().has(bootstrap_.rank());
  });
}

std::byte* SessionNetwork::allocate_memory(RegionName, std::size_t size) {
  void* memory = ::mmap(nullptr, std::max(size, std::size_t{1}), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(ErrorClass::network, "a region of " + std::to_string(size) + " bytes cannot be allocated");
  return static_cast<std::byte*>(memory);
}

RegionKeys SessionNetwork::register_memory(RegionName, std::span<std::byte> memory, bool) {
  return {reinterpret_cast<std::uint64_t>(memory.data()), 0};
}

void SessionNetwork::release_memory(RegionName, std::span<std::byte> memory, bool allocated) noexcept {
  if (allocated) ::munmap(memory.data(), std::max(memory.size(), std::size_t{1}));
}

std::unique_ptr<Port> SessionNetwork::open_port(std::uint32_t index, detail::DevicePath& path) {
  const std::lock_guard lock(mutex_);
  auto& device = devices()[index];
  if (device == nullptr) device = std::make_unique<SessionDevice>(shared_, index, make_transport(index));
  if (device->is_stopped())
    throw Error(ErrorClass::network,
                "device " + std::to_string(index) +
                    " cannot be opened again: it was closed while a payload from a peer was still landing");
  return std::make_unique<SessionPort>(*device, peers_, capabilities(), path);
}

}  // namespace weft::network::session
