#include <weft/error.hpp>
#include <weft/matching/context.hpp>
#include <weft/runtime.hpp>

#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fork_watch.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft {

namespace {

core::MatchingContexts& contexts_of(detail::RuntimeState& runtime) {
  return runtime.matching_engines().contexts();
}

ContextNumbers by_key(const MatchingContextOptions& options) {
  if (options.count == 0 || options.key >= detail::kLibraryContextKeys ||
      options.count > detail::kLibraryContextKeys - options.key)
    throw Error(ErrorClass::engine,
                "MatchingContext: key " + std::to_string(options.key) +
                    (options.count == 1 ? "" : " with a count of " + std::to_string(options.count)) +
                    " is out of range: keys are 0 to " + std::to_string(detail::kLibraryContextKeys - 1));
  return {detail::kContextByKey | options.key, options.count};
}

void check_members(Runtime& runtime, const MatchingContextOptions& options) {
  for (const int member : options.members)
    if (member < 0 || member >= runtime.size())
      throw Error(ErrorClass::peer, "MatchingContext: member " + std::to_string(member) +
                                        " is not a rank of this job (0 to " +
                                        std::to_string(runtime.size() - 1) + ")");
}

}  // namespace

MatchingContext::MatchingContext(Runtime& runtime, const MatchingContextOptions& options) {
  base::refuse_in_forked_copy("MatchingContext");
  check_members(runtime, options);  // before numbers are reserved, which nobody would give back
  if (options.key != MatchingContextOptions::kAgreed) {
    open(runtime, by_key(options), options);
    return;
  }
  // Where rank 0 has none left it tells the others, which then throw as it does.
  std::string refusal;
  ContextNumbers numbers;
  if (runtime.rank() == 0) {
    try {
      numbers = reserve(runtime, options.count);
    } catch (const std::exception& error) {  // also for lack of memory: the others wait
      refusal = error.what();
    }
  }
  const std::uint64_t mine = std::uint64_t{numbers.first} << 32 | options.count;
  std::vector<std::uint64_t> all(static_cast<std::size_t>(runtime.size()));
  const bool is_refused = runtime.rank() == 0 && numbers.count == 0;
  const std::uint64_t sent = is_refused ? ~std::uint64_t{0} : mine;
  runtime.allgather(bytes_of(sent), std::as_writable_bytes(std::span(all)));
  if (is_refused) throw Error(ErrorClass::engine, refusal);
  const auto count = static_cast<std::uint32_t>(all[0]);
  if (all[0] == ~std::uint64_t{0})
    throw Error(ErrorClass::engine, "MatchingContext: rank 0 has refused to reserve " +
                                        std::to_string(options.count) + " numbers");
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (static_cast<std::uint32_t>(all[rank]) == count) continue;
    give_back(runtime, numbers);
    throw Error(ErrorClass::engine,
                "MatchingContext: rank " + std::to_string(rank) + " makes a context of count " +
                    std::to_string(static_cast<std::uint32_t>(all[rank])) + " where rank 0 makes one of " +
                    std::to_string(count) + ": all ranks make the same contexts in the same order");
  }
  open(runtime, {static_cast<std::uint32_t>(all[0] >> 32), count}, options);
}

MatchingContext MatchingContext::of(Runtime& runtime, ContextNumbers numbers,
                                    const MatchingContextOptions& options) {
  base::refuse_in_forked_copy("MatchingContext");
  MatchingContext context;
  context.open(runtime, numbers, options);
  return context;
}

ContextNumbers MatchingContext::reserve_or_none(Runtime& runtime, std::uint32_t count) noexcept {
  try {
    return reserve(runtime, count);
  } catch (const std::exception&) {
    return {};
  }
}

void MatchingContext::open_agreed(Runtime& runtime, ContextNumbers numbers,
                                  const MatchingContextOptions& options, int giver) {
  if (numbers.count == 0)
    throw Error(ErrorClass::engine, "MatchingContext: rank " + std::to_string(giver) +
                                        ", the first member, cannot reserve " +
                                        std::to_string(options.count) +
                                        " numbers: it has none left, or asks for none or too many; or a "
                                        "member between it and this rank has lost it");
  if (numbers.count != options.count) {
    if (giver == runtime.rank()) give_back(runtime, numbers);
    throw Error(ErrorClass::job, "MatchingContext: this rank agrees upon a count of " +
                                     std::to_string(options.count) + ", and rank " + std::to_string(giver) +
                                     ", the first member, upon one of " + std::to_string(numbers.count));
  }
  open(runtime, numbers, options);
}

void MatchingContext::open(Runtime& runtime, ContextNumbers numbers, const MatchingContextOptions& options) {
  detail::RuntimeState& state = runtime.state();
  check_members(runtime, options);
  // Before a post names it.
  static_cast<void>(state.matching_engines().find(core::MatchingContexts::engine_of(numbers, options.order)));
  state_ = &contexts_of(state).open(state, numbers, options);
  is_ordered_ = options.order == MatchOrder::ordered;
  if (options.needs_all_members && state.failures().silent_failed() != 0) state.note_failures_in_contexts();
}

void MatchingContext::free() noexcept {
  detail::ContextState* const state = std::exchange(state_, nullptr);
  if (state == nullptr || base::is_forked_copy()) return;
  const_cast<detail::RuntimeState*>(state->runtime)->close_matching_context(*state);
}

ContextNumbers MatchingContext::reserve(Runtime& runtime, std::uint32_t count) {
  return contexts_of(runtime.state()).reserve(runtime.rank(), count);
}

void MatchingContext::give_back(Runtime& runtime, ContextNumbers numbers) noexcept {
  contexts_of(runtime.state()).give_back(numbers);
}

std::size_t MatchingContext::index_among(Runtime& runtime, std::span<const int> members,
                                         const MatchingContextOptions& options) {
  base::refuse_in_forked_copy("MatchingContext");
  if (options.key != MatchingContextOptions::kAgreed)
    throw Error(
        ErrorClass::engine,
        "MatchingContext: key " + std::to_string(options.key) +
            " is given, so that there is nothing to agree upon: use the constructor without an endpoint");
  std::vector<bool> seen(static_cast<std::size_t>(runtime.size()));
  std::size_t own_index = members.size();
  for (std::size_t index = 0; index < members.size(); ++index) {
    const int rank = members[index];
    const bool is_rank = rank >= 0 && rank < runtime.size();
    if (!is_rank || seen[static_cast<std::size_t>(rank)])
      throw Error(ErrorClass::peer, "MatchingContext: member " + std::to_string(rank) +
                                        (is_rank ? " is in the list twice"
                                                 : " is not a rank of this job (0 to " +
                                                       std::to_string(runtime.size() - 1) + ")"));
    seen[static_cast<std::size_t>(rank)] = true;
    if (rank == runtime.rank()) own_index = index;
  }
  if (own_index == members.size())
    throw Error(ErrorClass::engine, "MatchingContext: rank " + std::to_string(runtime.rank()) +
                                        " is not among the " + std::to_string(members.size()) +
                                        " members that it agrees with");
  return own_index;
}

std::uint64_t MatchingContext::agreement_word(Runtime& runtime, const MatchingContextOptions& options) {
  static_cast<void>(runtime.state().matching_engines().find(detail::kOrderedContexts));
  return std::uint64_t{detail::kContextByKey | detail::kLibraryContextKeys} << 32 | options.agreement;
}

void MatchingContext::refuse_member(int rank, Outcome outcome) {
  throw Error(ErrorClass::engine,
              "MatchingContext: rank " + std::to_string(rank) +
                  (outcome == Outcome::peer_failed ? " has failed or left while the members agree"
                                                   : " has sent more than a number: is its list the same?"));
}

void MatchingContext::refuse_moved() {
  throw Error(ErrorClass::engine, "the matching context has been moved to another object");
}

void MatchingContext::refuse_part(std::uint32_t part) const {
  throw Error(ErrorClass::engine, core::MatchingContexts::name_of({first(), count()}) + ": part " +
                                      std::to_string(part) + " is out of range: 0 to " +
                                      std::to_string(count() - 1));
}

void MatchingContext::refuse_any_tag() {
  throw Error(
      ErrorClass::engine,
      "any_tag: the matching context is unordered; make it with MatchOrder::ordered, or use a MatchingPolicy "
      "that ignores the tag");
}

void ContextTag::refuse(const detail::RuntimeState* runtime) const {
  throw Error(ErrorClass::engine,
              core::MatchingContexts::name_of({core::context_of(word_), 1}) +
                  (state_->runtime != runtime ? " belongs to another runtime than the endpoint"
                                              : " has been destroyed: no post may name it"));
}

}  // namespace weft
