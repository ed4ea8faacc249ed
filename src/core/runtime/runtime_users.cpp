// What is destroyed before the objects that use it names the first of them and ends the program: they would
// go on with memory that is gone.
#include "core/runtime/runtime_users.hpp"

#include "base/end_program.hpp"

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

}  // namespace weft::detail
