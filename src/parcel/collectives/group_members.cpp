// Groups of ranks, and their trees.
#include <weft/parcel/detail/collective.hpp>

#include <algorithm>
#include <numeric>
#include <string>

#include "parcel/runtime/core.hpp"

namespace weft::parcel::detail {

std::vector<int> all_ranks(const Core& core) {
  std::vector<int> ranks(static_cast<std::size_t>(core.port().size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::shared_ptr<const GroupMembers> make_members(const Core& core, std::vector<int> ranks,
                                                 std::string_view name) {
  const int size = core.port().size();
  const int own_rank = core.port().rank();
  std::vector<bool> is_member(static_cast<std::size_t>(size));
  auto members = std::make_shared<GroupMembers>();
  members->own = -1;
  std::uint64_t hash = hash_of_name(name);
  for (std::size_t index = 0; index < ranks.size(); ++index) {
    const int rank = ranks[index];
    if (rank < 0 || rank >= size)
      throw Error("a group was given rank " + std::to_string(rank) + "; the job has ranks 0 to " +
                  std::to_string(size - 1));
    if (is_member[static_cast<std::size_t>(rank)])
      throw Error("a group was given rank " + std::to_string(rank) + " twice; each rank is a member once");
    is_member[static_cast<std::size_t>(rank)] = true;
    if (rank == own_rank) members->own = static_cast<int>(index);
    hash = (hash ^ static_cast<std::uint64_t>(rank) ^ 0x9e3779b97f4a7c15) * 0x100000001b3;
    hash ^= hash >> 29;
  }
  if (members->own < 0)
    throw Error("rank " + std::to_string(own_rank) +
                " made a group of which it is no member: only members call it");
  members->ranks = std::move(ranks);
  members->id = hash;
  members->name = name;
  return members;
}

std::int32_t index_of(const GroupMembers& members, int rank) {
  const auto found = std::find(members.ranks.begin(), members.ranks.end(), rank);
  if (found == members.ranks.end())
    throw Error("rank " + std::to_string(rank) +
                " was named as the root of a collective; it is no member of the group");
  return static_cast<std::int32_t>(found - members.ranks.begin());
}

TreePosition position_in_tree(int size, int root, int index) {
  const int relative = (index - root + size) % size;
  const auto absolute = [&](int other) { return (other + root) % size; };
  TreePosition tree;
  for (int step = 1; step < size; step *= 2) {
    if ((relative & step) != 0) {
      tree.parent = absolute(relative - step);
      break;
    }
    if (relative + step < size) tree.children.push_back(absolute(relative + step));
  }
  return tree;
}

}  // namespace weft::parcel::detail
