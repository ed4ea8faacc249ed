#include <weft/endpoint/one_sided.hpp>

#include <weft/error.hpp>

#include "base/refuse.hpp"
#include "core/device/accesses.hpp"
#include "core/device/device_state.hpp"
#include "core/runtime/runtime_state.hpp"

#include <string>

namespace weft::detail {

using core::Caller;
using core::OneSided;

namespace {

OneSided::Access put_of(int peer, const RemoteAddress& to, Bytes from, const AccessOptions& options) {
  return {Operation::put, peer, to, const_cast<std::byte*>(from.data()), from.size(), options};
}
OneSided::Access get_of(int peer, const RemoteAddress& from, std::span<std::byte> to,
                        const AccessOptions& options) {
  return {Operation::get, peer, from, to.data(), to.size(), options};
}

void check_flushed_peer(DeviceState& device, int peer, const char* call) {
  if (peer < 0 || peer >= device.runtime().size())
    base::refuse(ErrorClass::peer, call,
                 "peer " + std::to_string(peer) + " is not a rank of this job (0 to " +
                     std::to_string(device.runtime().size() - 1) + ")");
}

bool is_flushed(DeviceState& device, int peer) noexcept {
  core::Flushes& flushes = device.protocols().one_sided.requests().flushes();
  return flushes.is_over(peer, flushes.begin(peer));
}

void flush_peer(DeviceState& device, int peer, const std::source_location& where) noexcept {
  struct Context {
    core::Flushes& flushes;
    int peer;
    std::uint32_t first;
  } context{device.protocols().one_sided.requests().flushes(), peer, 0};
  context.first = context.flushes.begin(peer);
  device.waits().wait({[](const void* what) noexcept {
                         const Context& flush = *static_cast<const Context*>(what);
                         return flush.flushes.is_over(flush.peer, flush.first);
                       },
                       &context,
                       &context.flushes.waiters(),
                       {"a flush", where, peer}});
}

}  // namespace

template <class Locking>
Status OneSidedCalls<Locking>::post_put(DeviceState& device, int peer, const RemoteAddress& to, Bytes from,
                                        const AccessOptions& options) {
  return core::post_access(device, put_of(peer, to, from, options), Caller::of_endpoint(Locking::kExclusive));
}
template <class Locking>
Status OneSidedCalls<Locking>::post_get(DeviceState& device, int peer, const RemoteAddress& from,
                                        std::span<std::byte> to, const AccessOptions& options) {
  return core::post_access(device, get_of(peer, from, to, options), Caller::of_endpoint(Locking::kExclusive));
}
template <class Locking>
Outcome OneSidedCalls<Locking>::put(DeviceState& device, int peer, const RemoteAddress& to, Bytes from,
                                    const AccessOptions& options, const std::source_location& where) {
  return core::perform_access(device, put_of(peer, to, from, options), where,
                              Caller::of_endpoint(Locking::kExclusive));
}
template <class Locking>
Outcome OneSidedCalls<Locking>::get(DeviceState& device, int peer, const RemoteAddress& from,
                                    std::span<std::byte> to, const AccessOptions& options,
                                    const std::source_location& where) {
  return core::perform_access(device, get_of(peer, from, to, options), where,
                              Caller::of_endpoint(Locking::kExclusive));
}
template <class Locking>
void OneSidedCalls<Locking>::flush(DeviceState& device, int peer, const std::source_location& where) {
  check_flushed_peer(device, peer, "flush");
  flush_peer(device, peer, where);
}
template <class Locking>
void OneSidedCalls<Locking>::flush(DeviceState& device, const std::source_location& where) noexcept {
  for (int peer = 0; peer < device.runtime().size(); ++peer) flush_peer(device, peer, where);
}

template <class Locking>
bool OneSidedCalls<Locking>::flushed(DeviceState& device, int peer) {
  check_flushed_peer(device, peer, "flushed");
  return is_flushed(device, peer);
}
template <class Locking>
bool OneSidedCalls<Locking>::flushed(DeviceState& device) noexcept {
  for (int peer = 0; peer < device.runtime().size(); ++peer)
    if (!is_flushed(device, peer)) return false;
  return true;
}

template struct OneSidedCalls<TryLock>;
template struct OneSidedCalls<NoLock>;

}  // namespace weft::detail
