#include <weft/endpoint.hpp>
#include <weft/error.hpp>
#include <weft/matching.hpp>
#include <weft/runtime.hpp>

#include <string>

#include "base/fork_watch.hpp"
#include "base/refuse.hpp"
#include "core/device/blocking.hpp"
#include "core/device/call_name.hpp"
#include "core/device/device_state.hpp"
#include "core/device/probing.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft {

MatchingEngine::MatchingEngine(Runtime& runtime, const MatchingEngineOptions& options)
    : runtime_(runtime.state()), id_(options.id) {
  base::refuse_in_forked_copy("MatchingEngine");
  runtime_.matching_engines()
      .open(options.id, options.order,
            {.serial = options.serial, .algorithm = options.algorithm, .counters = options.counters},
            options.make_key, options.context)
      .needed_ranks()
      .set_all(options.needs_all_ranks);
  runtime_.log().in(base::LogModule::matching).debug([&] {
    return "engine " + std::to_string(id_) + " is open" + (options.serial ? ", serial" : "") +
           (options.order == MatchOrder::ordered ? ", ordered" : "") +
           (options.make_key != nullptr ? ", with a make_key" : "") +
           (options.needs_all_ranks ? ", for all ranks together" : "") +
           (options.algorithm != nullptr ? ", with an algorithm of the program" : "") +
           (options.counters ? ", with counters" : "");
  });
}

MatchingEngineAttributes MatchingEngine::attributes() const noexcept {
  return runtime_.matching_engines().find(id_)->attributes();
}

MatchingCounters MatchingEngine::counters() const noexcept {
  return runtime_.matching_engines().find(id_)->counters();
}

MatchingEngine::~MatchingEngine() {
  if (!base::is_forked_copy()) runtime_.close_matching_engine(id_);
}

MatchedMessage& MatchedMessage::operator=(MatchedMessage&& other) noexcept {
  if (this != &other) {
    drop();
    device_ = other.device_;
    engine_ = other.engine_;
    record_ = std::exchange(other.record_, nullptr);
    info_ = other.info_;
  }
  return *this;
}

void MatchedMessage::drop() noexcept {
  core::MatchRecord* const record = std::exchange(record_, nullptr);
  if (record == nullptr || base::is_forked_copy()) return;
  device_->protocols().matched_messages.receiver().drop_probed(*engine_, *record);
  device_->endpoints().note_probed(-1);
}

namespace detail {

using core::Caller;

void require_ordered(std::uint16_t engine, const char* operation) {
  if (engine < kMatchingEngines)
    base::refuse(ErrorClass::tag, operation,
                 "any_tag on matching engine " + std::to_string(engine) +
                     ", which is unordered; wildcards need an ordered one (MatchOrder::ordered, ids " +
                     std::to_string(kMatchingEngines) + " to " + std::to_string(kEngineIds - 1) + ")");
}

template <class Locking>
Status MatchedCalls<Locking>::post_send(DeviceState& device, int peer, std::uint64_t tag, Bytes bytes,
                                        const SendOptions& options) {
  core::SendPosts& sends = device.protocols().sends;
  if (sends.post_with_new_credits<Locking>(peer, tag, bytes, options))
    return complete_immediately(device, Operation::send, peer, tag, bytes, options);
  return sends.post(peer, tag, bytes, options, Caller::of_endpoint(Locking::kExclusive));
}
template <class Locking>
bool MatchedCalls<Locking>::post_multi_slot_send(DeviceState& device, std::uint64_t peer_and_device,
                                                 std::uint64_t tag, const std::byte* data, std::size_t size,
                                                 std::uint64_t trailer) noexcept {
  return device.protocols().sends.try_post_multi_slot<Locking, false>(peer_and_device, tag, data, size,
                                                                      trailer);
}
template <class Locking>
bool MatchedCalls<Locking>::post_ordered_multi_slot_send(DeviceState& device, std::uint64_t peer_and_device,
                                                         std::uint64_t tag, const std::byte* data,
                                                         std::size_t size, std::uint64_t trailer) noexcept {
  return device.protocols().sends.try_post_multi_slot<Locking, true>(peer_and_device, tag, data, size,
                                                                     trailer);
}
template <class Locking>
Status MatchedCalls<Locking>::post_send_packet(DeviceState& device, int peer, std::uint64_t tag,
                                               Packet& packet, std::size_t size, const SendOptions& options) {
  return device.protocols().sends.post_packet(peer, tag, packet, size, options,
                                              Caller::of_endpoint(Locking::kExclusive));
}
template <class Locking>
Outcome MatchedCalls<Locking>::send(DeviceState& device, int peer, std::uint64_t tag, Bytes bytes,
                                    const SendOptions& options, const std::source_location& where) {
  return core::send(device, peer, tag, bytes, options, where, Caller::of_endpoint(Locking::kExclusive));
}
template <class Locking>
Status MatchedCalls<Locking>::post_receive(DeviceState& device, int source, std::uint64_t tag,
                                           std::span<std::byte> buffer, const ReceiveOptions& options) {
  return device.protocols().receives.post(source, tag, buffer, options);
}
template <class Locking>
bool MatchedCalls<Locking>::try_post_receive(DeviceState& device, std::uint64_t engine_and_source,
                                             std::uint64_t tag, std::byte* data, std::size_t size,
                                             Completion* completion) noexcept {
  return device.protocols().receives.try_post<Locking>(engine_and_source, tag, data, size, completion);
}
template <class Locking>
bool MatchedCalls<Locking>::try_post_receive(DeviceState& device, std::uint64_t engine_and_source,
                                             std::uint64_t tag, std::byte* data, std::size_t size,
                                             Completion* completion, void* user_data) noexcept {
  return device.protocols().receives.try_post<Locking>(engine_and_source, tag, data, size, completion,
                                                       user_data);
}
template <class Locking>
bool MatchedCalls<Locking>::try_post_ordered_receive(DeviceState& device, std::uint64_t engine_and_source,
                                                     std::uint64_t tag, std::byte* data, std::size_t size,
                                                     Completion* completion) noexcept {
  return device.protocols().receives.try_post_ordered<Locking>(engine_and_source, tag, data, size,
                                                               completion);
}
template <class Locking>
bool MatchedCalls<Locking>::try_post_ordered_receive(DeviceState& device, std::uint64_t engine_and_source,
                                                     std::uint64_t tag, std::byte* data, std::size_t size,
                                                     Completion* completion, void* user_data) noexcept {
  return device.protocols().receives.try_post_ordered<Locking>(engine_and_source, tag, data, size, completion,
                                                               user_data);
}
template <class Locking>
bool MatchedCalls<Locking>::try_post_masked_receive(DeviceState& device, std::uint64_t engine_and_source,
                                                    std::uint64_t tag, std::uint64_t tag_mask,
                                                    std::byte* data, std::size_t size, Completion* completion,
                                                    void* user_data) noexcept {
  return device.protocols().receives.try_post_wildcard(engine_and_source, tag, tag_mask, data, size,
                                                       completion, user_data);
}
template <class Locking>
Status MatchedCalls<Locking>::post_receive_slow(DeviceState& device, int source, std::uint64_t tag,
                                                std::span<std::byte> buffer, const ReceiveOptions& options) {
  return device.protocols().receives.post_slow(source, tag, buffer, options);
}
template <class Locking>
Status MatchedCalls<Locking>::post_receive_within(DeviceState& device, int source, std::uint64_t tag,
                                                  std::span<std::byte> buffer,
                                                  const ReceiveOptions& options) {
  return device.protocols().receives.post_within(source, tag, buffer, options);
}
template <class Locking>
Message MatchedCalls<Locking>::receive(DeviceState& device, int source, std::uint64_t tag,
                                       std::span<std::byte> buffer, const ReceiveOptions& options,
                                       const std::source_location& where) {
  return core::receive(device, source, tag, buffer, options, where);
}
template <class Locking>
bool MatchedCalls<Locking>::cancel(DeviceState& device, const ReceiveHandle& handle) noexcept {
  return device.protocols().receives.cancel(handle);
}
template <class Locking>
bool MatchedCalls<Locking>::cancel(DeviceState& device, const SendHandle& handle) noexcept {
  return device.protocols().timed_posts.cancel(handle);
}
template <class Locking>
bool MatchedCalls<Locking>::probe(DeviceState& device, int source, std::uint64_t tag, ProbedMessage& found,
                                  const ReceiveOptions& options) {
  return device.protocols().receives.probe(source, tag, options, found);
}
template <class Locking>
MatchedMessage MatchedCalls<Locking>::matched_probe(DeviceState& device, int source, std::uint64_t tag,
                                                    const ReceiveOptions& options) {
  MatchedMessage arrived;
  const auto [engine, record] = device.protocols().receives.matched_probe(source, tag, options);
  if (record == nullptr) return arrived;
  device.endpoints().note_probed(1);
  const core::UnexpectedPayload& content = *record->unexpected;
  arrived.device_ = &device;
  arrived.engine_ = engine;
  arrived.record_ = record;
  arrived.info_ = {content.peer, content.tag, content.length};
  return arrived;
}
template <class Locking>
Outcome MatchedCalls<Locking>::wait_probe(DeviceState& device, int source, std::uint64_t tag,
                                          ProbedMessage& found, const ReceiveOptions& options,
                                          const std::source_location& where) {
  return core::wait_probe(device, source, tag, options, where, [&] {
    return core::named("wait_probe", "probe", [&] { return probe(device, source, tag, found, options); });
  });
}
template <class Locking>
Outcome MatchedCalls<Locking>::wait_matched_probe(DeviceState& device, int source, std::uint64_t tag,
                                                  MatchedMessage& found, const ReceiveOptions& options,
                                                  const std::source_location& where) {
  return core::wait_probe(device, source, tag, options, where, [&] {
    found = core::named("wait_matched_probe", "matched_probe",
                        [&] { return matched_probe(device, source, tag, options); });
    return static_cast<bool>(found);
  });
}
template <class Locking>
Status MatchedCalls<Locking>::post_receive_probed(DeviceState& device, MatchedMessage& message,
                                                  std::span<std::byte> buffer,
                                                  const ReceiveOptions& options) {
  if (!message) base::refuse(ErrorClass::state, "post_receive", "this MatchedMessage holds no message");
  if (options.completion == nullptr)
    base::refuse(ErrorClass::option, "post_receive",
                 "a completion object is needed, or nobody would learn that the message has come");
  if (options.timeout.count() != 0)
    base::refuse(ErrorClass::option, "post_receive",
                 "a message that matched_probe() took has arrived: there is no timeout");
  device.endpoints().note_probed(-1);
  return device.protocols().matched_messages.receiver().receive_probed(
      *message.engine_, *std::exchange(message.record_, nullptr), buffer, options);
}

template struct MatchedCalls<TryLock>;
template struct MatchedCalls<NoLock>;

}  // namespace detail
}  // namespace weft
