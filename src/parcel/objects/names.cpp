#include <weft/parcel/objects/names.hpp>

#include <cxxabi.h>

#include <atomic>
#include <cstdlib>

#include "parcel/runtime/core.hpp"

namespace weft::parcel::detail {

NameDirectory::NameDirectory(Core&) {}

void NameDirectory::add(const std::string& name, std::any handle, const std::string& type) {
  std::vector<std::pair<std::uint64_t, Found>> waiting;
  const std::any for_those = handle;
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[name];
    if (entry.handle.has_value())
      throw NameError("the name '" + name + "' is taken, by an object of type " + entry.type +
                      ": unregister_name() it first");
    entry.handle = std::move(handle);
    entry.type = type;
    waiting.swap(entry.waiting);
  }
  for (auto& [ticket, found] : waiting) found(for_those, type);
}

bool NameDirectory::remove(const std::string& name) {
  std::any ended;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(name);
  if (entry == entries_.end() || !entry->second.handle.has_value()) return false;
  ended = std::move(entry->second.handle);
  entries_.erase(entry);
  return true;
}

void NameDirectory::find(const std::string& name, std::uint64_t ticket, Found found) {
  std::any handle;
  std::string type;
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[name];
    if (!entry.handle.has_value()) {
      entry.waiting.emplace_back(ticket, std::move(found));
      return;
    }
    handle = entry.handle;
    type = entry.type;
  }
  found(handle, type);
}

void NameDirectory::forget(const std::string& name, std::uint64_t ticket) {
  Found ended;
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) return;
  auto& waiting = entry->second.waiting;
  for (auto one = waiting.begin(); one != waiting.end(); ++one)
    if (one->first == ticket) {
      ended = std::move(one->second);
      waiting.erase(one);
      break;
    }
  if (waiting.empty() && !entry->second.handle.has_value()) entries_.erase(entry);
}

int rank_of_name(const Core& core, const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return static_cast<int>((hash ^ (hash >> 32)) % static_cast<std::uint64_t>(core.port().size()));
}

std::uint64_t next_ticket(const Core& core) noexcept {
  static std::atomic<std::uint64_t> tickets{0};
  // Different on every rank, also of one process.
  return tickets.fetch_add(1, std::memory_order_relaxed) * static_cast<std::uint64_t>(core.port().size()) +
         static_cast<std::uint64_t>(core.port().rank());
}

std::string type_text(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : type.name();
}

}  // namespace weft::parcel::detail
