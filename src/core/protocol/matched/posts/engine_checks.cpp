#include "core/protocol/matched/posts/engine_checks.hpp"

#include "base/fork_watch.hpp"
#include "base/refuse.hpp"

#include <weft/error.hpp>

#include <string>

namespace weft::core {

MatchingEngine& check_engine(MatchingEngines& engines, std::uint32_t id, MatchingPolicy policy,
                             const char* operation) {
  // Those beyond the engines of programs are there where something uses them; groups send to streams of peers
  // on devices that this rank does not have, too.
  const bool may_be_made = id < kEngineIds || engines.allows_streams_of_peers();
  MatchingEngine* engine = may_be_made ? engines.find(id) : engines.find_existing(id);
  if (engine == nullptr) [[unlikely]]
    base::refuse(
        ErrorClass::engine, operation,
        "matching engine " + std::to_string(id) + " is out of range: 0 to " + std::to_string(kEngineIds - 1));
  if (policy == MatchingPolicy::user && !engine->keys().has_function()) [[unlikely]]
    base::refuse(ErrorClass::engine, operation,
                 "matching engine " + std::to_string(id) +
                     " was not opened with a make_key, which MatchingPolicy::user needs");
  return *engine;
}

MatchingEngine& check_ordered_engine(MatchingEngines& engines, std::uint32_t id, MatchingPolicy policy,
                                     const char* operation) {
  MatchingEngine& engine = check_engine(engines, id, MatchingPolicy::rank_and_tag, operation);
  if (policy != MatchingPolicy::rank_and_tag) [[unlikely]]
    base::refuse(
        ErrorClass::engine, operation,
        "matching engine " + std::to_string(id) +
            " is ordered and matches by MatchingPolicy::rank_and_tag only; receives may name any_source "
            "and any_tag");
  return engine;
}

void check_source(int source, MatchingPolicy policy, const Context& context, const char* operation) {
  if (context.ranks == 0) [[unlikely]]
    base::refuse_in_forked_copy(operation);
  if (policy == MatchingPolicy::tag_only || policy == MatchingPolicy::any) return;
  if (source < 0 || source >= context.ranks) [[unlikely]]
    base::refuse(ErrorClass::peer, operation,
                 "source " + std::to_string(source) + " is not a rank of this job (0 to " +
                     std::to_string(context.ranks - 1) + ")" +
                     (source == any_source ? "; any_source needs an ordered matching engine" : ""));
}

void refuse_unseen_end(const char* operation) {
  base::refuse(
      ErrorClass::option, operation,
      "a synchronous send needs a completion object, or nobody would learn that it has been matched");
}

void check_tag_mask(const ReceiveOptions& options, const char* operation) {
  if (options.tag_mask != ~std::uint64_t{0} && options.engine < kMatchingEngines) [[unlikely]]
    base::refuse(ErrorClass::tag, operation,
                 "a tag_mask needs an ordered matching engine, and engine " + std::to_string(options.engine) +
                     " is not one");
}

}  // namespace weft::core
