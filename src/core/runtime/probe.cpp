// Cancelling receives, and probing for unexpected messages.
#include "core/runtime/device_state.hpp"
#include "core/runtime/runtime_state.hpp"

#include <weft/detail/message_access.hpp>

namespace weft::detail {

using Table = core::MatchingEngine::Table;

bool DeviceState::cancel(const ReceiveHandle& handle) noexcept {
  return end_receive(handle, Outcome::cancelled);
}

bool DeviceState::end_receive(const ReceiveHandle& handle, Outcome outcome) noexcept {
  core::MatchingEngine* engine = runtime_.matching_engines().find(handle.engine);
  core::MatchRecord* record = engine != nullptr ? engine->cancel(handle) : nullptr;
  if (record == nullptr) return false;
  core::end_unmatched(*engine, *record, outcome, index_, &ends_);
  return true;
}

bool DeviceState::probe(int source, std::uint64_t tag, const ReceiveOptions& options, ProbedMessage& found) {
  const auto tell = [&](const core::MatchRecord& record) {
    found = {record.unexpected->peer, record.unexpected->tag, record.unexpected->length};
  };
  if (options.engine >= kMatchingEngines) {
    core::MatchingEngine& ordered = check_ordered_receive(source, options, "probe");
    return ordered.order()->visit_message({tag, static_cast<std::uint32_t>(source), 0}, tell);
  }
  check_source(source, options.policy, "probe");
  core::MatchingEngine& engine = check_engine(options.engine, options.policy, "probe");
  return engine.table().visit_oldest(Table::Side::unexpected, engine.key(source, tag, options.policy), tell);
}

std::pair<core::MatchingEngine*, core::MatchRecord*> DeviceState::matched_probe(
    int source, std::uint64_t tag, const ReceiveOptions& options) {
  if (options.engine >= kMatchingEngines) {
    core::MatchingEngine& ordered = check_ordered_receive(source, options, "matched_probe");
    return {&ordered, ordered.order()->take_message({tag, static_cast<std::uint32_t>(source), 0})};
  }
  check_source(source, options.policy, "matched_probe");
  core::MatchingEngine& engine = check_engine(options.engine, options.policy, "matched_probe");
  return {&engine, engine.table().take(Table::Side::unexpected, engine.key(source, tag, options.policy))};
}

Status DeviceState::receive_probed(core::MatchingEngine& engine, core::MatchRecord& record,
                                   std::span<std::byte> buffer, const ReceiveOptions& options) {
  return send_receive_.receive_probed(engine, record, buffer, options);
}

void DeviceState::drop(core::MatchingEngine& engine, core::MatchRecord& record) noexcept {
  send_receive_.drop_probed(engine, record);
}

}  // namespace weft::detail
