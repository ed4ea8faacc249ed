#include "bindings/mpi/communicators/known.hpp"

#include <map>

namespace weft::mpi {

namespace {

std::map<std::uint32_t, Communicator*>& communicators() {
  static auto& all = *new std::map<std::uint32_t, Communicator*>;
  return all;
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

void forget_communicator(Communicator& communicator) noexcept {
  const std::lock_guard lock(communicators_mutex());
  const auto found = communicators().find(communicator.context);
  if (found != communicators().end() && found->second == &communicator) communicators().erase(found);
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

}  // namespace weft::mpi
