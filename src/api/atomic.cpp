#include <weft/endpoint/atomic.hpp>

#include "core/device/accesses.hpp"

namespace weft::detail {

namespace {

core::OneSided::Access access_of(int peer, const RemoteAddress& where, const AtomicUpdate& update, void* old,
                                 const AccessOptions& options) {
  return {Operation::atomic,          peer,    where, static_cast<std::byte*>(old),
          core::size_of(update.type), options, update};
}

}  // namespace

template <class Locking>
Status AtomicCalls<Locking>::post(DeviceState& device, int peer, const RemoteAddress& where,
                                  const AtomicUpdate& update, void* old, const AccessOptions& options) {
  return core::post_access(device, access_of(peer, where, update, old, options),
                           core::Caller::of_endpoint(Locking::kExclusive));
}
template <class Locking>
Outcome AtomicCalls<Locking>::perform(DeviceState& device, int peer, const RemoteAddress& where,
                                      const AtomicUpdate& update, void* old, const AccessOptions& options,
                                      const std::source_location& caller) {
  return core::perform_access(device, access_of(peer, where, update, old, options), caller,
                              core::Caller::of_endpoint(Locking::kExclusive));
}

template struct AtomicCalls<TryLock>;
template struct AtomicCalls<NoLock>;

}  // namespace weft::detail
