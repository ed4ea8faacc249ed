#include "stream/pending_text.hpp"

#include "core/device/device_state.hpp"
#include "core/diagnosis/pending.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::stream {

std::string pending_of(StreamState& stream) {
  constexpr std::size_t kShown = 4;
  core::PendingList list(kShown);
  if (core::MatchingEngine* const engine =
          stream.runtime_state.matching_engines().find_existing(stream.engine->id()))
    engine->describe(list);
  static_cast<void>(stream.serial->state().describe(list));
  std::string text;
  std::size_t shown = 0;
  std::size_t count = 0;
  for (const core::PendingKind kind :
       {core::PendingKind::receive, core::PendingKind::send, core::PendingKind::active_message,
        core::PendingKind::put, core::PendingKind::get, core::PendingKind::atomic})
    count += list.count(kind);
  for (const core::PendingOperation& operation : list.operations()) {
    // Messages of peers are not the stream's own operations.
    if (operation.kind == core::PendingKind::held_message || operation.kind == core::PendingKind::arrival)
      continue;
    if (shown == kShown) break;
    text += shown++ == 0 ? "" : ", ";
    const bool is_receive = operation.kind == core::PendingKind::receive;
    text += std::string(core::to_string(operation.kind)) + " of " + std::to_string(operation.size) +
            " bytes " + (is_receive ? "from " : "to ") +
            (operation.peer < 0 ? "any rank" : "rank " + std::to_string(operation.peer));
    // The tag in the context of the group.
    if (operation.has_tag && (is_receive || operation.kind == core::PendingKind::send))
      text += " with tag " + std::to_string(static_cast<std::uint32_t>(operation.tag));
  }
  if (count > shown) text += ", and " + std::to_string(count - shown) + " more";
  return text;
}

}  // namespace weft::stream
