#include "bindings/mpi/groups/group.hpp"

#include "bindings/mpi/errors/failure.hpp"
#include "bindings/mpi/groups/groups_calls.hpp"

#include <algorithm>

namespace weft::mpi {

int own_world_rank = 0;
Group empty_group({});

namespace {
const bool kEmptyGroupIsDefined = [] {
  define(MPI_GROUP_EMPTY, empty_group);
  return true;
}();
}  // namespace

Group::Group(std::vector<int> members, Session* of)
    : Object(kKind), ranks(std::move(members)), session(retain(of)) {
  for (int rank = 0; rank < size(); ++rank)
    is_identity = is_identity && ranks[static_cast<std::size_t>(rank)] == rank;
  if (is_identity) return;
  for (int rank = 0; rank < size(); ++rank) sorted_.emplace_back(ranks[static_cast<std::size_t>(rank)], rank);
  std::sort(sorted_.begin(), sorted_.end());
}

int Group::search(int world_rank) const noexcept {
  const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), std::pair{world_rank, 0});
  return found != sorted_.end() && found->first == world_rank ? found->second : MPI_UNDEFINED;
}

namespace {

MPI_Group made_of(const Group& original, std::vector<int> ranks) {
  return ranks.empty() ? MPI_GROUP_EMPTY
                       : handle_of<MPI_Group>(new Group(std::move(ranks), original.session));
}

/// Which members a list names; refuses ranks out of range and such that stand twice.
std::vector<int> checked(const Group& group, int count, const int* ranks) {
  if (count < 0) fail(MPI_ERR_ARG, "a list of %d ranks; 0 or more are needed", count);
  std::vector<int> seen(group.ranks.size(), 0);
  for (int index = 0; index < count; ++index) {
    if (ranks[index] < 0 || ranks[index] >= group.size())
      fail(MPI_ERR_RANK, "rank %d is not in the group, which has %d; 0 to %d are", ranks[index], group.size(),
           group.size() - 1);
    if (seen[static_cast<std::size_t>(ranks[index])]++ != 0)
      fail(MPI_ERR_RANK, "rank %d stands twice in the list", ranks[index]);
  }
  return seen;
}

std::vector<int> ranks_of_ranges(int count, int ranges[][3]) {
  std::vector<int> ranks;
  if (count < 0) fail(MPI_ERR_ARG, "a list of %d ranges; 0 or more are needed", count);
  for (int index = 0; index < count; ++index) {
    const int first = ranges[index][0], last = ranges[index][1], stride = ranges[index][2];
    if (stride == 0) fail(MPI_ERR_ARG, "range %d from %d to %d has a stride of 0", index, first, last);
    for (long rank = first; stride > 0 ? rank <= last : rank >= last; rank += stride)
      ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

}  // namespace

void group_compare(Group& one, Group& other, int* result) {
  *result = MPI_UNEQUAL;
  if (one.size() != other.size()) return;
  if (one.ranks == other.ranks) {
    *result = MPI_IDENT;
    return;
  }
  for (const int rank : one.ranks)
    if (other.rank_of(rank) == MPI_UNDEFINED) return;
  *result = MPI_SIMILAR;
}

void group_union(Group& one, Group& other, MPI_Group* made) {
  std::vector<int> ranks = one.ranks;
  for (const int rank : other.ranks)
    if (one.rank_of(rank) == MPI_UNDEFINED) ranks.push_back(rank);
  *made = made_of(one, std::move(ranks));
}
void group_intersection(Group& one, Group& other, MPI_Group* made) {
  std::vector<int> ranks;
  for (const int rank : one.ranks)
    if (other.rank_of(rank) != MPI_UNDEFINED) ranks.push_back(rank);
  *made = made_of(one, std::move(ranks));
}
void group_difference(Group& one, Group& other, MPI_Group* made) {
  std::vector<int> ranks;
  for (const int rank : one.ranks)
    if (other.rank_of(rank) == MPI_UNDEFINED) ranks.push_back(rank);
  *made = made_of(one, std::move(ranks));
}

void group_incl(Group& group, int count, const int* ranks, MPI_Group* made) {
  static_cast<void>(checked(group, count, ranks));
  std::vector<int> members;
  for (int index = 0; index < count; ++index)
    members.push_back(group.ranks[static_cast<std::size_t>(ranks[index])]);
  *made = made_of(group, std::move(members));
}
void group_excl(Group& group, int count, const int* ranks, MPI_Group* made) {
  const std::vector<int> excluded = checked(group, count, ranks);
  std::vector<int> members;
  for (std::size_t rank = 0; rank < group.ranks.size(); ++rank)
    if (excluded[rank] == 0) members.push_back(group.ranks[rank]);
  *made = made_of(group, std::move(members));
}
void group_range_incl(Group& group, int count, int ranges[][3], MPI_Group* made) {
  const std::vector<int> ranks = ranks_of_ranges(count, ranges);
  group_incl(group, static_cast<int>(ranks.size()), ranks.data(), made);
}
void group_range_excl(Group& group, int count, int ranges[][3], MPI_Group* made) {
  const std::vector<int> ranks = ranks_of_ranges(count, ranges);
  group_excl(group, static_cast<int>(ranks.size()), ranks.data(), made);
}

void group_free(MPI_Group* handle) {
  Group* const group = find<Group>(*handle);
  if (group == nullptr) fail(MPI_ERR_GROUP, "the group is MPI_GROUP_NULL or none");
  release(group);
  *handle = MPI_GROUP_NULL;
}
void group_rank(Group& group, int* rank) { *rank = group.rank_of(own_world_rank); }
void group_size(Group& group, int* size) { *size = group.size(); }

void group_translate_ranks(Group& from, int count, const int* ranks, Group& to, int* translated) {
  for (int index = 0; index < count; ++index) {
    if (ranks[index] == MPI_PROC_NULL) {
      translated[index] = MPI_PROC_NULL;
      continue;
    }
    if (ranks[index] < 0 || ranks[index] >= from.size())
      fail(MPI_ERR_RANK, "rank %d is not in the first group, which has %d", ranks[index], from.size());
    translated[index] = to.rank_of(from.ranks[static_cast<std::size_t>(ranks[index])]);
  }
}

}  // namespace weft::mpi
