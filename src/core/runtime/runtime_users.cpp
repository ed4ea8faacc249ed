// What is destroyed before the objects that use it names the first of them and ends the program: they would
// go on with memory that is gone.
#include "core/runtime/runtime_users.hpp"

#include "base/end_program.hpp"
#include "core/runtime/runtime_state.hpp"

#include <string_view>
#include <utility>

namespace weft::detail {

namespace {

bool begins_with_vowel(std::string_view word) {
  return !word.empty() && std::string_view("AEIOUaeiou").find(word.front()) != std::string_view::npos;
}

}  // namespace

void refuse_early_end(const std::string& owner, const std::string& user) noexcept {
  const std::string noun = user.substr(0, user.find(' '));
  base::end_program(owner + " is destroyed while " + (begins_with_vowel(noun) ? "an " : "a ") + user +
                    " still uses it: destroy the " + noun + " first");
}

std::uint64_t RuntimeUsers::add(std::string object, int device) {
  const std::lock_guard lock(mutex_);
  users_.emplace(next_, User{std::move(object), device});
  return next_++;
}

void RuntimeUsers::remove(std::uint64_t number) noexcept {
  const std::lock_guard lock(mutex_);
  users_.erase(number);
}

std::string RuntimeUsers::name(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return users_.at(number).object;
}

std::string RuntimeUsers::last(int device) const {
  const std::lock_guard lock(mutex_);
  for (auto user = users_.rbegin(); user != users_.rend(); ++user)
    if (device == kNoDevice || user->second.device == device) return user->second.object;
  return {};
}

std::string RuntimeState::name() const {
  return "Runtime (rank " + std::to_string(rank_) + " of " + std::to_string(size_) + ", job " +
         std::string(bootstrap_->job_id()) + ")";
}

void RuntimeState::refuse_users() {
  if (const std::string user = users_.last(); !user.empty()) refuse_early_end(name(), user);
}

/// The objects that the core knows by itself, those that stand on others first.
void RuntimeState::refuse_objects() {
  std::string user = devices_.user();
  for (std::uint32_t id = 0; user.empty() && id < kEngineIds; ++id)
    if (matching_engines_.is_open(id)) user = "MatchingEngine (id " + std::to_string(id) + ")";
  if (user.empty()) user = matching_engines_.contexts().first_open();
  if (const std::int64_t region = regions_.first_open(); user.empty() && region >= 0)
    user = "MemoryRegion (index " + std::to_string(region) + ")";
  if (!user.empty()) refuse_early_end(name(), user);
}

/// Messages that lie in memory of the runtime; called when the runtime itself holds none any more.
void RuntimeState::refuse_messages() {
  const std::uint64_t held = network_->held_payloads() + pool_->kept();
  if (held == 0) return;
  std::string where;
  const bool has_looked = exposures_.try_for_each([&](std::uint16_t id, Completion& completion) {
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
