#include "parcel/action_registry.hpp"

#include <weft/error.hpp>

#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>

namespace weft::parcel {

namespace {

// Types register themselves before main(), which needs a place for all of them.
std::atomic<detail::ActionEntry*> first_entry{nullptr};

std::uint64_t hash_of(const std::string& text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

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
  next = first_entry.load(std::memory_order_relaxed);
  while (
      !first_entry.compare_exchange_weak(next, this, std::memory_order_release, std::memory_order_relaxed)) {
  }
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

std::vector<const detail::ActionEntry*> agree_on_actions(Parcelport& port) {
  std::vector<std::pair<std::string, detail::ActionEntry*>> entries;
  for (auto* entry = first_entry.load(std::memory_order_acquire); entry != nullptr; entry = entry->next)
    entries.emplace_back(name_of(*entry), entry);
  // Entries of one name keep the order in which they were registered, which one binary always has.
  std::reverse(entries.begin(), entries.end());
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& left, const auto& right) { return left.first < right.first; });
  std::vector<const detail::ActionEntry*> by_number{nullptr};
  std::vector<std::string> names;
  for (auto& [name, entry] : entries) {
    entry->id.store(static_cast<std::uint32_t>(by_number.size()), std::memory_order_relaxed);
    by_number.push_back(entry);
    names.push_back(name);
  }

  struct Summary {
    std::uint64_t hash;
    std::uint64_t length;
  };
  const std::string text = joined(names);
  const Summary mine{hash_of(text), text.size()};
  std::vector<Summary> all(static_cast<std::size_t>(port.size()));
  port.allgather(weft::bytes_of(mine), std::as_writable_bytes(std::span(all)));
  const bool is_equal = std::all_of(all.begin(), all.end(), [&](const Summary& other) {
    return other.hash == all[0].hash && other.length == all[0].length;
  });
  if (is_equal) return by_number;

  std::uint64_t longest = 0;
  for (const Summary& summary : all) longest = std::max(longest, summary.length);
  std::string padded = text;
  padded.resize(longest, '\0');
  std::string texts(longest * all.size(), '\0');
  port.allgather(std::as_bytes(std::span(padded)), std::as_writable_bytes(std::span(texts)));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const std::string theirs = texts.substr(rank * longest, all[rank].length);
    if (theirs != text)
      throw Error("the ranks run programs with different actions: " +
                  differences(names, split(theirs), static_cast<int>(rank)) +
                  "; start the same program on all ranks");
  }
  return by_number;
}

}  // namespace weft::parcel
