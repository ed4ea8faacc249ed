#include "bindings/mpi/communicators/communicator.hpp"

#include "bindings/mpi/communicators/known.hpp"

namespace weft::mpi {

Communicator* communicator_world = nullptr;
Communicator* communicator_self = nullptr;
Communicator* communicator_of_groups = nullptr;

Communicator::Communicator(std::uint32_t own_context, Group* own_group, Group* other_group)
    : Object(kKind),
      context(own_context),
      local(own_group),
      remote(other_group),
      rank(own_group->rank_of(own_world_rank)),
      size(own_group->size()) {
  note_communicator(*this);
}

Communicator::~Communicator() {
  forget_communicator(*this);
  release(local);
  release(remote);
  release(errhandler);
  release(info);
  release(local_communicator);
}

std::string Communicator::described() const {
  if (!name.empty()) return name;
  return "a communicator of " + std::to_string(size) +
         (is_inter() ? " and " + std::to_string(remote->size()) : "") + " ranks";
}

std::uint32_t new_context() {
  // Of the first three numbers of each rank, 0, 1 and 2 are those of the communicators that exist from the
  // start.
  static std::atomic<std::uint32_t> given{3};
  const auto ranks = static_cast<std::uint64_t>(communicator_world->size);
  if (known_communicators() >= kMostCommunicators) return kNoContext;
  const std::uint64_t number =
      given.fetch_add(1, std::memory_order_relaxed) * ranks + static_cast<std::uint64_t>(own_world_rank);
  constexpr std::uint64_t kMost = kPartitionedContext >> 2;
  return number < kMost ? static_cast<std::uint32_t>(number) << 2 : kNoContext;
}

void need_context(std::uint32_t context) {
  if (context != kNoContext) return;
  fail(MPI_ERR_OTHER,
       "a member has %zu communicators that have not been freed, and no more are possible, or has made as "
       "many "
       "as there are numbers for",
       kMostCommunicators);
}

}  // namespace weft::mpi
