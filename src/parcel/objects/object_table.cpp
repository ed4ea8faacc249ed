#include <weft/parcel/detail/object_table.hpp>

#include <cstdio>
#include <string>

#include "parcel/runtime/core.hpp"

namespace weft::parcel::detail {

std::uint64_t ObjectTable::keep(std::shared_ptr<void> object, std::uint64_t credit) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t id = ++last_;
  entries_[{static_cast<std::uint64_t>(core_.port().rank()), id}].object = std::move(object);
  homes_[id].credit = static_cast<std::int64_t>(credit);
  return id;
}

void ObjectTable::change_credit(std::uint64_t id, std::int64_t change) {
  std::set<int> visited;
  {
    const std::lock_guard lock(mutex_);
    const auto home = homes_.find(id);
    if (home == homes_.end()) return;
    home->second.credit += change;
    if (home->second.credit > 0) return;
    visited = std::move(home->second.visited);
    homes_.erase(home);
  }
  const int own = core_.port().rank();
  const ObjectName name{static_cast<std::uint64_t>(own), id};
  for (const int rank : visited)
    if (rank != own && !core_.port().has_failed(rank)) core_.runtime().apply(rank, DropObject{}, name);
  drop(name);
}

ObjectTable::Entry& ObjectTable::find(const ObjectName& name) {
  const auto found = entries_.find(name);
  if (found == entries_.end())
    throw Error("object " + std::to_string(name.id) + " of rank " + std::to_string(name.home) +
                " was called, which rank " + std::to_string(core_.port().rank()) +
                " does not have (any more)");
  return found->second;
}

Future<void> ObjectTable::wait_behind(Entry& entry) {
  entry.waiting.emplace_back(&core_.runtime().scheduler());
  return entry.waiting.back().future();
}

ObjectTable::Visit ObjectTable::enter(const ObjectName& name) {
  const std::lock_guard lock(mutex_);
  Entry& entry = find(name);
  Visit visit;
  if (entry.is_held) {
    visit.moving = wait_behind(entry);
  } else if (entry.object) {
    ++entry.running;
    visit.object = entry.object;
  } else {
    visit.forward_to = entry.next;
  }
  return visit;
}

void ObjectTable::leave(const ObjectName& name) noexcept {
  std::unique_ptr<Promise<std::shared_ptr<void>>> departure;
  std::shared_ptr<void> object;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.find(name);
    if (entry == entries_.end() || --entry->second.running != 0 || !entry->second.departure) return;
    entry->second.is_held = true;
    departure = std::move(entry->second.departure);
    object = entry->second.object;
  }
  departure->set(std::move(object));
}

ObjectTable::Departure ObjectTable::begin_move(const ObjectName& name) {
  const std::lock_guard lock(mutex_);
  Entry& entry = find(name);
  Departure departure;
  if (entry.is_held || entry.departure) {
    departure.moving = wait_behind(entry);
  } else if (!entry.object) {
    departure.forward_to = entry.next;
  } else {
    Promise<std::shared_ptr<void>> promise(&core_.runtime().scheduler());
    departure.object = promise.future();
    if (entry.running == 0) {
      entry.is_held = true;
      promise.set(entry.object);
    } else {
      entry.departure = std::make_unique<Promise<std::shared_ptr<void>>>(std::move(promise));
    }
  }
  return departure;
}

void ObjectTable::end_move(const ObjectName& name, int to) {
  std::vector<Promise<void>> waiting;
  std::shared_ptr<void> gone;
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = find(name);
    entry.is_held = false;
    waiting.swap(entry.waiting);
    if (to >= 0) {
      gone = std::move(entry.object);
      entry.object.reset();
      entry.next = to;
    }
  }
  for (auto& each : waiting) each.set();
}

Future<void> ObjectTable::adopt(const ObjectName& name, const std::shared_ptr<void>& object) {
  if (!object) Reader::malformed("an object that moves is missing");
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[name];
  // It comes back before this rank has heard that it had arrived where it went.
  if (entry.is_held) return wait_behind(entry);
  if (entry.object) Reader::malformed("an object moves to where it is");
  entry.object = object;
  entry.next = -1;
  return {};
}

void ObjectTable::note_visit(std::uint64_t id, int rank) {
  const std::lock_guard lock(mutex_);
  const auto home = homes_.find(id);
  if (home == homes_.end()) throw Error("object " + std::to_string(id) + " moves, but has ended");
  home->second.visited.insert(rank);
}

void ObjectTable::drop(const ObjectName& name) {
  Entry ended;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) return;
  ended = std::move(entry->second);
  entries_.erase(entry);
}

void report_dropped(const char* what) noexcept {
  const Runtime* const runtime = Runtime::current();
  const int rank = runtime != nullptr ? runtime->rank() : -1;
  try {
    throw;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weft: rank %d: parcel: %s without an answer has thrown: %s\n", rank, what,
                 error.what());
  } catch (...) {
    std::fprintf(stderr, "weft: rank %d: parcel: %s without an answer has thrown\n", rank, what);
  }
}

}  // namespace weft::parcel::detail
