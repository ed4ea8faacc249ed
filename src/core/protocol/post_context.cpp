#include "core/protocol/post_context.hpp"

#include <string>

namespace weft::core {

[[gnu::noinline]] void PostContext::note_refusal(Reason reason) const noexcept {
  refused_nodes.note_refused_post();
  if (context.counts->refusals[static_cast<std::size_t>(reason)].add() != 0) return;
  const bool is_of_matching = reason == Reason::no_credit;
  context.log.in(is_of_matching ? base::LogModule::matching : base::LogModule::runtime).info([&] {
    return "device " + std::to_string(context.device) + " refuses its first post for the reason " +
           name_of(reason);
  });
}

}  // namespace weft::core
