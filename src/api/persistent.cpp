#include <weft/endpoint/persistent.hpp>

#include "core/device/call_name.hpp"
#include "core/device/device_state.hpp"
#include "core/protocol/post_checks.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::detail {

void Preparation::check_active_message(DeviceState& device, int peer, RemoteCompletion remote, Bytes bytes,
                                       const ActiveMessageOptions& options) {
  const core::Context& context = device.protocols().context;
  core::check_target(peer, remote, context, "prepare_am");
  core::check_class(options.message_class, "prepare_am");
  core::check_region(options.region, bytes, context, "prepare_am");
}
void Preparation::check_send(DeviceState& device, int peer, Bytes bytes, const SendOptions& options) {
  device.protocols().sends.check(peer, options, "prepare_send");
  core::check_region(options.region, bytes, device.protocols().context, "prepare_send");
}
PersistentMatch Preparation::prepare_receive(DeviceState& device, int source, std::uint64_t tag,
                                             std::span<std::byte> buffer, const ReceiveOptions& options) {
  // check() also makes the engine if it does not exist yet.
  device.protocols().receives.check(source, options, "prepare_receive");
  return {&device.runtime().matching_engines().slot_of_any(options.engine),
          source,
          tag,
          buffer,
          options,
          options.engine < kMatchingEngines && options.policy == MatchingPolicy::rank_and_tag &&
              options.timeout.count() == 0};
}
Status Preparation::start_receive(DeviceState& device, const PersistentMatch& match) {
  core::MatchingEngine& engine = *match.engine->load(std::memory_order_acquire);
  // Fast path of a start; post() handles all other cases, and the order of ordered engines. Engines without a
  // fast path are never serial.
  if (engine.is_serial() && match.fits_fast_path &&
      engine.try_post<NoLock>({match.tag, static_cast<std::uint32_t>(match.source), 0}, match.buffer,
                              match.options)) [[likely]]
    return Status::posted();
  if (match.options.timeout.count() != 0)
    return device.protocols().receives.post_within(match.source, match.tag, match.buffer, match.options);
  return device.protocols().receives.post(match.source, match.tag, match.buffer, match.options);
}
void Preparation::check_access(DeviceState& device, Operation operation, int peer, const RemoteAddress& where,
                               Bytes buffer, LocalRegion region) {
  const bool is_put = operation == Operation::put;
  core::named(is_put ? "prepare_put" : "prepare_get", is_put ? "post_put" : "post_get", [&] {
    device.protocols().one_sided.check(
        {operation, peer, where, const_cast<std::byte*>(buffer.data()), buffer.size(), {.region = region}});
  });
}
DirectWindow Preparation::window_of(DeviceState& device, const RemoteRegion& region) {
  return device.runtime()
      .network()
      .map_memory(region.rank,
                  {{region.index, region.generation}, {region.address, region.key}, region.bytes, 0, 0})
      .value_or(kNoWindow);
}
void Preparation::destroy_at_end(DeviceState& device, std::unique_ptr<Completion> completion) noexcept {
  device.runtime().objects().destroy_at_end(std::move(completion));
}

}  // namespace weft::detail
