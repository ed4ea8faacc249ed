#include "parcel/action_registry.hpp"

#include <weft/error.hpp>

#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "parcel/selection/rank_comparison.hpp"

namespace weft::parcel {

namespace {

/// All actions of the process. Never destroyed: the entries of some library are last.
struct Registry {
  std::mutex mutex;
  std::vector<const detail::ActionEntry*> entries;  // in the order of their registration
  std::vector<ActionTable*> tables;                 // of the runtimes that are open
  std::uint32_t last_index = 0;
};
Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

/// The file that the entry comes from; its last part is the same on all hosts.
std::string library_of(const detail::ActionEntry& entry) {
  Dl_info information{};
  return ::dladdr(&entry, &information) != 0 && information.dli_fname != nullptr ? information.dli_fname : "";
}
std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + '\n';
  return text;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    names.push_back(text.substr(begin, end - begin));
  return names;
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t index = 0; index < names.size() && index < kShown; ++index)
    text += (index == 0 ? "'" : ", '") + names[index] + "'";
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

}  // namespace

namespace detail {

ActionEntry::ActionEntry(const std::type_info& action_type, Run run_now, Decode decode_only) noexcept
    : type(action_type), run(run_now), decode(decode_only) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  index_ = ++all.last_index;
  all.entries.push_back(this);
}

ActionEntry::~ActionEntry() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::erase(all.entries, this);
  for (ActionTable* const table : all.tables) table->forget(*this);
}

}  // namespace detail

std::string name_of(const detail::ActionEntry& entry) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(entry.type.name(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : entry.type.name();
}

std::string differences(const std::vector<std::string>& mine, const std::vector<std::string>& theirs,
                        int their_rank) {
  std::vector<std::string> only_mine;
  std::vector<std::string> only_theirs;
  std::set_difference(mine.begin(), mine.end(), theirs.begin(), theirs.end(), std::back_inserter(only_mine));
  std::set_difference(theirs.begin(), theirs.end(), mine.begin(), mine.end(),
                      std::back_inserter(only_theirs));
  std::string text;
  const std::string rank = "rank " + std::to_string(their_rank);
  if (!only_mine.empty()) text = rank + " does not have " + list_of(only_mine);
  if (!only_theirs.empty())
    text += (text.empty() ? "" : "; ") + ("only " + rank + " has " + list_of(only_theirs));
  return text;
}

std::vector<std::string> distinct_names(const std::vector<NamedAction>& actions) {
  std::map<std::string, std::set<std::string>> libraries;
  for (const NamedAction& action : actions) libraries[action.name].insert(action.library);
  std::map<std::string, int> seen;
  std::vector<std::string> names;
  for (const NamedAction& action : actions) {
    std::string name = action.name;
    if (const auto& all = libraries[action.name]; all.size() > 1) {
      const std::string file = last_part(action.library);
      const auto is_alike = [&](const std::string& other) { return last_part(other) == file; };
      name += " of " + (std::count_if(all.begin(), all.end(), is_alike) > 1 ? action.library : file);
    }
    if (const int number = ++seen[name]; number > 1) name += " (" + std::to_string(number) + ")";
    names.push_back(std::move(name));
  }
  return names;
}

ActionTable::ActionTable() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.tables.push_back(this);
}

ActionTable::~ActionTable() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::erase(all.tables, this);
}

void ActionTable::forget(const detail::ActionEntry& entry) noexcept {
  // Its index, which no other action gets, may keep its number.
  by_number_[number_at(entry.index())].store(nullptr, std::memory_order_release);
}

void ActionTable::agree(Parcelport& port) {
  std::vector<std::string> names;
  {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    std::vector<NamedAction> actions;
    for (const auto* const entry : all.entries) actions.push_back({name_of(*entry), library_of(*entry)});
    const std::vector<std::string> distinct = distinct_names(actions);
    std::map<std::string, const detail::ActionEntry*> sorted;
    for (std::size_t index = 0; index < distinct.size(); ++index)
      sorted.emplace(distinct[index], all.entries[index]);
    numbers_.assign(all.last_index + 1, 0);
    by_number_ = std::make_unique<std::atomic<const detail::ActionEntry*>[]>(sorted.size() + 1);
    last_number_ = 0;
    for (const auto& [name, entry] : sorted) {
      numbers_[entry->index()] = ++last_number_;
      by_number_[last_number_].store(entry, std::memory_order_relaxed);
      names.push_back(name);
    }
  }
  const std::string text = joined(names);
  const std::vector<std::string> all = texts_that_differ(
      text, port.size(), [&port](Bytes mine, std::span<std::byte> whole) { port.allgather(mine, whole); });
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] != text)
      throw Error("the ranks run programs with different actions: " +
                  differences(names, split(all[rank]), static_cast<int>(rank)) +
                  "; start the same program on all ranks, with the same libraries loaded");
}

}  // namespace weft::parcel
