#include "bindings/mpi/communicators/known.hpp"

#include <deque>
#include <map>
#include <utility>

namespace weft::mpi {

namespace {

std::map<std::uint32_t, Communicator*>& communicators() {
  static auto& all = *new std::map<std::uint32_t, Communicator*>;
  return all;
}

/// The last communicators that have ended and had calls.
constexpr std::size_t kMostFreed = 64;
std::deque<KnownHistory>& freed_histories() {
  static auto& all = *new std::deque<KnownHistory>;
  return all;
}

bool has_others(const Communicator& communicator) noexcept {
  return (communicator.size > 1 || communicator.is_inter()) && &communicator != communicator_of_groups;
}

KnownHistory history_of(const Communicator& communicator) {
  const Group* first = communicator.local;
  const Group* second = communicator.is_inter() ? communicator.remote : &empty_group;
  if (communicator.is_inter() && second->ranks[0] < first->ranks[0]) std::swap(first, second);
  const int rank = first == communicator.local ? communicator.rank : first->size() + communicator.rank;
  const auto member = [&](int index) {
    if (index < 0 || index >= first->size() + second->size()) return -1;
    return index < first->size() ? first->ranks[static_cast<std::size_t>(index)]
                                 : second->ranks[static_cast<std::size_t>(index - first->size())];
  };
  return {communicator.context,
          {member(rank - 1), member(rank - 2)},
          {member(rank + 1), member(rank + 2)},
          communicator.described(),
          communicator.history};
}

}  // namespace

std::mutex& communicators_mutex() noexcept {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

void note_communicator(Communicator& communicator) {
  const std::lock_guard lock(communicators_mutex());
  communicators().emplace(communicator.context, &communicator);
}

void end_communicators() noexcept {
  const std::lock_guard lock(communicators_mutex());
  for (const auto& [context, communicator] : communicators()) end_object(*communicator);
}

void forget_communicator(Communicator& communicator) noexcept {
  const std::lock_guard lock(communicators_mutex());
  const auto found = communicators().find(communicator.context);
  if (found == communicators().end() || found->second != &communicator) return;
  communicators().erase(found);
  if (!has_others(communicator) || communicator.history.count() == 0) return;
  if (freed_histories().size() == kMostFreed) freed_histories().pop_front();
  freed_histories().push_back(history_of(communicator));
}

std::size_t known_communicators() {
  const std::lock_guard lock(communicators_mutex());
  return communicators().size();
}

bool visit_communicator(std::uint32_t context, const std::function<void(const Communicator&)>& visit) {
  const std::lock_guard lock(communicators_mutex());
  const auto found = communicators().find(context);
  if (found == communicators().end()) return false;
  visit(*found->second);
  return true;
}

void visit_communicators(const std::function<void(const Communicator&)>& visit) {
  const std::lock_guard lock(communicators_mutex());
  for (const auto& [context, communicator] : communicators()) visit(*communicator);
}

std::vector<KnownHistory> known_histories(std::size_t most) {
  const std::lock_guard lock(communicators_mutex());
  std::vector<KnownHistory> all(freed_histories().begin(), freed_histories().end());
  for (const auto& [context, communicator] : communicators())
    if (has_others(*communicator) && all.size() < most + kMostFreed) all.push_back(history_of(*communicator));
  return all;
}

}  // namespace weft::mpi
