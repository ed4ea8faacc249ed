#include "core/runtime/undestroyed.hpp"

#include "base/end_program.hpp"

#include <weft/types.hpp>

#include <cstdint>

namespace weft::detail {

std::string RuntimeState::Undestroyed::name() const {
  return "Runtime (rank " + std::to_string(runtime_.rank_) + " of " + std::to_string(runtime_.size_) +
         ", job " + std::string(runtime_.bootstrap_->job_id()) + ")";
}

void RuntimeState::Undestroyed::refuse_users() const {
  if (const std::string user = runtime_.users_.last(); !user.empty()) refuse_early_end(name(), user);
}

void RuntimeState::Undestroyed::refuse_objects() const {
  std::string user = runtime_.devices_.user();
  for (std::uint32_t id = 0; user.empty() && id < kEngineIds; ++id)
    if (runtime_.matching_engines_.is_open(id)) user = "MatchingEngine (id " + std::to_string(id) + ")";
  if (user.empty()) user = runtime_.matching_engines_.contexts().first_open();
  if (const std::int64_t region = runtime_.regions_.first_open(); user.empty() && region >= 0)
    user = "MemoryRegion (index " + std::to_string(region) + ")";
  if (!user.empty()) refuse_early_end(name(), user);
}

void RuntimeState::Undestroyed::refuse_messages() const {
  const std::uint64_t held = runtime_.network_->held_payloads() + runtime_.pool_->kept();
  if (held == 0) return;
  std::string where;
  const bool has_looked = runtime_.exposures_.try_for_each([&](std::uint16_t id, Completion& completion) {
    const std::uint64_t messages = completion.at_rest().messages;
    if (messages != 0 && where.empty())
      where = "; " + std::to_string(messages) + " of its messages are in the object exposed as id " +
              std::to_string(id);
  });
  static_cast<void>(has_looked);
  base::end_program(name() + " is destroyed while " +
                    (held == 1 ? "a Message still holds one of its packets"
                               : std::to_string(held) + " Messages still hold its packets") +
                    where + ": destroy messages, and objects that hold messages, first");
}

}  // namespace weft::detail
