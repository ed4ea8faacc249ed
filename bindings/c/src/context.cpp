#include <weft_c/context.h>

#include "objects.hpp"

#include <weft/matching/context.hpp>

using namespace weft::c;

namespace {

weft_context_options checked_context(const weft_context_options* given) {
  const weft_context_options options = options_of(given, "options");
  constexpr uint32_t kKnown = uint32_t{WEFT_ORDERED} | uint32_t{WEFT_NEEDS_ALL_MEMBERS};
  if ((options.flags & ~kKnown) != 0)
    throw BadArgument("options->flags is " + std::to_string(options.flags) +
                      ": it must be made of WEFT_ORDERED and WEFT_NEEDS_ALL_MEMBERS");
  if (options.agreement > UINT16_MAX)
    throw BadArgument("options->agreement is " + std::to_string(options.agreement) +
                      ": it must be 0 to 65535");
  if (options.member_count != 0) present(options.members, "options->members");
  return options;
}

weft::MatchingContextOptions own_options(const weft_context_options& options) {
  weft::MatchingContextOptions own{
      .order = (options.flags & WEFT_ORDERED) != 0 ? weft::MatchOrder::ordered : weft::MatchOrder::unordered,
      .count = options.count != 0 ? options.count : 1,
      .needs_all_members = (options.flags & WEFT_NEEDS_ALL_MEMBERS) != 0,
      .members = {options.members, options.member_count},
      .agreement = static_cast<std::uint16_t>(options.agreement)};
  if (options.key_plus_1 != 0) own.key = options.key_plus_1 - 1;
  return own;
}

}  // namespace

extern "C" {

weft_result weft_context_create(weft_runtime* runtime, const weft_context_options* given,
                                weft_context** context) {
  return create(__func__, context, "context", [&] {
    const weft_context_options options = checked_context(given);
    const weft::MatchingContextOptions own = own_options(options);
    weft::Runtime& there = present(runtime, "runtime").runtime;
    if (options.endpoint == nullptr) {
      if (options.member_count != 0 && options.key_plus_1 == 0)
        throw BadArgument("options->endpoint is null: members that agree upon a context need one");
      return std::make_unique<weft_context>(weft::MatchingContext(there, own));
    }
    if (options.key_plus_1 != 0)
      throw BadArgument("options->endpoint is set, and a context by key needs none");
    present_in(there, options.endpoint, "options->endpoint");
    return with(options.endpoint, [&](auto& endpoint) {
      return std::make_unique<weft_context>(weft::MatchingContext(there, endpoint, own.members, own));
    });
  });
}

weft_result weft_context_of(weft_runtime* runtime, weft_context_numbers numbers,
                            const weft_context_options* given, weft_context** context) {
  return create(__func__, context, "context", [&] {
    const weft_context_options options = checked_context(given);
    if (options.key_plus_1 != 0 || options.endpoint != nullptr)
      throw BadArgument("options has a key or an endpoint: a context of numbers has neither");
    return std::make_unique<weft_context>(weft::MatchingContext::of(
        present(runtime, "runtime").runtime, {numbers.first, numbers.count}, own_options(options)));
  });
}

weft_result weft_context_destroy(weft_context* context) { return destroy(__func__, context, "context"); }

weft_result weft_context_reserve(weft_runtime* runtime, uint32_t count, weft_context_numbers* numbers) {
  return guarded(__func__, [&] {
    present(numbers, "numbers");
    const weft::ContextNumbers taken =
        weft::MatchingContext::reserve(present(runtime, "runtime").runtime, count);
    *numbers = {.first = taken.first, .count = taken.count};
    return WEFT_OK;
  });
}

weft_result weft_context_give_back(weft_runtime* runtime, weft_context_numbers numbers) {
  return guarded(__func__, [&] {
    weft::MatchingContext::give_back(present(runtime, "runtime").runtime, {numbers.first, numbers.count});
    return WEFT_OK;
  });
}

}  // extern "C"
