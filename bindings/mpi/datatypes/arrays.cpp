// Parts of arrays: subarrays, and what a rank has of a distributed array.
#include "bindings/mpi/datatypes/datatypes_calls.hpp"
#include "bindings/mpi/datatypes/derived.hpp"
#include "bindings/mpi/errors/failure.hpp"

namespace weft::mpi {

namespace {

using Long = long long;

/// A datatype of the library's own, which is part of another one: it is noted as its type, so that it lives
/// as long.
Datatype& inner(Derived& outer, const Part& part) {
  auto* const type = new Datatype;
  type->contents.combiner = MPI_COMBINER_CONTIGUOUS;
  type->contents.types.push_back(retain(part.type));
  type->parts.push_back(part);
  lay_out(*type);
  outer.type().contents.types.push_back(type);
  return *type;
}

void check_order(int order) {
  if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
    fail(MPI_ERR_ARG, "order %d is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN", order);
}

/// One dimension of the array as one rank has it: blocks of elements, a stride apart, and a shorter one at
/// the end.
struct Share {
  MPI_Count first;   // index of the first element
  MPI_Count block;   // elements in a block
  MPI_Count blocks;  // whole blocks
  MPI_Count stride;  // between blocks
  MPI_Count rest;    // elements of the last block, if it is not whole
};

Share share_of(MPI_Count size, int distribution, int argument, int processes, int coordinate) {
  if (distribution == MPI_DISTRIBUTE_NONE || (distribution == MPI_DISTRIBUTE_BLOCK && processes == 1))
    return {0, size, 1, 0, 0};
  MPI_Count block = argument;
  if (distribution == MPI_DISTRIBUTE_BLOCK) {
    if (argument == MPI_DISTRIBUTE_DFLT_DARG) block = (size + processes - 1) / processes;
    if (block <= 0 || block * processes < size)
      fail(MPI_ERR_ARG, "blocks of %lld for %d processes do not cover a dimension of %lld",
           static_cast<Long>(block), processes, static_cast<Long>(size));
    const MPI_Count first = block * coordinate;
    const MPI_Count own = first >= size ? 0 : size - first < block ? size - first : block;
    return {first, own, own > 0 ? 1 : 0, 0, 0};
  }
  if (distribution != MPI_DISTRIBUTE_CYCLIC)
    fail(MPI_ERR_ARG, "distribution %d is none of MPI_DISTRIBUTE_...", distribution);
  if (argument == MPI_DISTRIBUTE_DFLT_DARG) block = 1;
  if (block <= 0) fail(MPI_ERR_ARG, "cyclic blocks of %lld; 1 or more is needed", static_cast<Long>(block));
  const MPI_Count first = block * coordinate, stride = block * processes;
  if (first >= size) return {first, block, 0, stride, 0};
  const MPI_Count whole = (size - first) / stride;
  const MPI_Count left = size - first - whole * stride;
  return {first, block, whole + (left >= block ? 1 : 0), stride, left >= block ? 0 : left};
}

}  // namespace

void type_create_subarray(int dimensions, Numbers sizes, Numbers subsizes, Numbers starts, int order,
                          Datatype& type, MPI_Datatype* made) {
  if (dimensions <= 0) fail(MPI_ERR_ARG, "%d dimensions; 1 or more are needed", dimensions);
  check_order(order);
  for (int axis = 0; axis < dimensions; ++axis)
    if (sizes[axis] < 1 || subsizes[axis] < 1 || starts[axis] < 0 ||
        starts[axis] > sizes[axis] - subsizes[axis])
      fail(MPI_ERR_ARG, "dimension %d: %lld elements from %lld are not inside an array of %lld", axis,
           static_cast<Long>(subsizes[axis]), static_cast<Long>(starts[axis]),
           static_cast<Long>(sizes[axis]));
  Derived derived(MPI_COMBINER_SUBARRAY);
  derived.note_integer(dimensions);
  derived.note(sizes, dimensions);
  derived.note(subsizes, dimensions);
  derived.note(starts, dimensions);
  derived.note_integer(order);
  derived.note_type(type);

  // From the axis whose elements are neighbours outwards.
  Datatype* whole = &type;
  MPI_Aint stride = type.extent, offset = 0;
  for (int step = 0; step < dimensions; ++step) {
    const int axis = order == MPI_ORDER_C ? dimensions - 1 - step : step;
    whole = &inner(derived, {whole, 1, 0, subsizes[axis], stride});
    offset += starts[axis] * stride;
    stride *= sizes[axis];
  }
  derived.add({whole, 1, offset});
  derived.lay_out();
  derived.type().set_bounds(0, stride);
  *made = derived.release_handle();
}

void type_create_darray(int size, int rank, int dimensions, Numbers sizes, const int* distributions,
                        const int* arguments, const int* processes, int order, Datatype& type,
                        MPI_Datatype* made) {
  if (dimensions <= 0) fail(MPI_ERR_ARG, "%d dimensions; 1 or more are needed", dimensions);
  check_order(order);
  Long grid = 1;
  for (int axis = 0; axis < dimensions; ++axis) {
    if (processes[axis] < 1 || sizes[axis] < 1)
      fail(MPI_ERR_ARG, "dimension %d: %lld elements over %d processes; 1 or more of both are needed", axis,
           static_cast<Long>(sizes[axis]), processes[axis]);
    if (distributions[axis] == MPI_DISTRIBUTE_NONE && processes[axis] != 1)
      fail(MPI_ERR_ARG, "dimension %d is not distributed, so that it has 1 process and not %d", axis,
           processes[axis]);
    grid *= processes[axis];
  }
  if (grid != size || rank < 0 || rank >= size)
    fail(MPI_ERR_ARG, "rank %d of %d processes, and a grid of %lld", rank, size, grid);
  Derived derived(MPI_COMBINER_DARRAY);
  derived.note_integer(size);
  derived.note_integer(rank);
  derived.note_integer(dimensions);
  derived.note(sizes, dimensions);
  derived.note_integers(distributions, dimensions);
  derived.note_integers(arguments, dimensions);
  derived.note_integers(processes, dimensions);
  derived.note_integer(order);
  derived.note_type(type);

  // Ranks of the grid are in row-major order, whatever the order of the array.
  std::vector<int> coordinates(static_cast<std::size_t>(dimensions));
  for (int axis = dimensions - 1, left = rank; axis >= 0; --axis) {
    coordinates[static_cast<std::size_t>(axis)] = left % processes[axis];
    left /= processes[axis];
  }
  Datatype* whole = &type;
  MPI_Aint stride = type.extent, offset = 0;
  for (int step = 0; step < dimensions; ++step) {
    const int axis = order == MPI_ORDER_C ? dimensions - 1 - step : step;
    const Share share = share_of(sizes[axis], distributions[axis], arguments[axis], processes[axis],
                                 coordinates[static_cast<std::size_t>(axis)]);
    Datatype& block = inner(derived, {whole, 1, 0, share.block, stride});
    Datatype& last = inner(derived, {whole, 1, 0, share.rest, stride});
    auto* const both = new Datatype;
    both->contents.combiner = MPI_COMBINER_STRUCT;
    both->parts.push_back({&block, 1, 0, share.blocks, share.stride * stride});
    both->parts.push_back({&last, 1, share.blocks * share.stride * stride});
    lay_out(*both);
    derived.type().contents.types.push_back(both);
    whole = both;
    offset += share.first * stride;
    stride *= sizes[axis];
  }
  derived.add({whole, 1, offset});
  derived.lay_out();
  derived.type().set_bounds(0, stride);
  *made = derived.release_handle();
}

}  // namespace weft::mpi
