// The calls of the group "groups".
#pragma once

#include "bindings/mpi/groups/group.hpp"

namespace weft::mpi {

void group_compare(Group& one, Group& other, int* result);
void group_difference(Group& one, Group& other, MPI_Group* made);
void group_excl(Group& group, int count, const int* ranks, MPI_Group* made);
void group_free(MPI_Group* group);
void group_incl(Group& group, int count, const int* ranks, MPI_Group* made);
void group_intersection(Group& one, Group& other, MPI_Group* made);
void group_range_excl(Group& group, int count, int ranges[][3], MPI_Group* made);
void group_range_incl(Group& group, int count, int ranges[][3], MPI_Group* made);
void group_rank(Group& group, int* rank);
void group_size(Group& group, int* size);
void group_translate_ranks(Group& from, int count, const int* ranks, Group& to, int* translated);
void group_union(Group& one, Group& other, MPI_Group* made);

}  // namespace weft::mpi
