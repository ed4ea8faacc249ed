// Checks of the arguments that sends, receives and probes have. They throw weft::Error, whose text begins
// with `operation`.
#pragma once

#include "core/matching/matching_engines.hpp"
#include "core/protocol/context.hpp"

#include <weft/options.hpp>

#include <cstdint>

namespace weft::core {

/// Returns the engine; makes it when it does not exist yet.
MatchingEngine& check_engine(MatchingEngines& engines, std::uint32_t id, MatchingPolicy policy,
                             const char* operation);
/// check_engine() for an ordered engine.
MatchingEngine& check_ordered_engine(MatchingEngines& engines, std::uint32_t id, MatchingPolicy policy,
                                     const char* operation);
void check_source(int source, MatchingPolicy policy, const Context& context, const char* operation);

[[noreturn, gnu::cold]] void refuse_unseen_end(const char* operation);
/// The end of a synchronous send, which is all that it is for, is seen by somebody.
inline void check_end(const SendOptions& options, const char* operation) {
  if (options.synchronous && options.completion == nullptr) [[unlikely]]
    refuse_unseen_end(operation);
}

/// Throws weft::Error when only some bits of the tag shall count, on an unordered engine.
void check_tag_mask(const ReceiveOptions& options, const char* operation);

}  // namespace weft::core
