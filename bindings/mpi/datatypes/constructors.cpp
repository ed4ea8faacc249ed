// Datatypes made of one or more others, at displacements that the program lists.
#include "bindings/mpi/datatypes/datatypes_calls.hpp"
#include "bindings/mpi/datatypes/derived.hpp"
#include "bindings/mpi/errors/failure.hpp"

namespace weft::mpi {

namespace {

MPI_Count checked_length(Numbers blocklengths, MPI_Count index) {
  const MPI_Count length = blocklengths[index];
  if (length < 0)
    fail(MPI_ERR_ARG, "block length %lld of block %lld; 0 or more is needed", static_cast<long long>(length),
         static_cast<long long>(index));
  return length;
}

}  // namespace

void type_contiguous(MPI_Count count, Datatype& type, MPI_Datatype* made) {
  Derived derived(MPI_COMBINER_CONTIGUOUS);
  derived.note(count);
  derived.note_type(type);
  derived.add({&type, count, 0});
  derived.lay_out();
  *made = derived.release_handle();
}

void type_vector(MPI_Count count, MPI_Count blocklength, MPI_Count stride, Datatype& type,
                 MPI_Datatype* made) {
  Derived derived(MPI_COMBINER_VECTOR);
  derived.note(count);
  derived.note(blocklength);
  derived.note(stride);
  derived.note_type(type);
  derived.add({&type, blocklength, 0, count, stride * type.extent});
  derived.lay_out();
  *made = derived.release_handle();
}

void type_create_hvector(MPI_Count count, MPI_Count blocklength, MPI_Count stride, Datatype& type,
                         MPI_Datatype* made) {
  Derived derived(MPI_COMBINER_HVECTOR);
  derived.note(count);
  derived.note(blocklength);
  derived.note_address(stride);
  derived.note_type(type);
  derived.add({&type, blocklength, 0, count, stride});
  derived.lay_out();
  *made = derived.release_handle();
}

void type_indexed(MPI_Count count, Numbers blocklengths, Numbers displacements, Datatype& type,
                  MPI_Datatype* made) {
  Derived derived(MPI_COMBINER_INDEXED);
  derived.note(count);
  derived.note(blocklengths, count);
  derived.note(displacements, count);
  derived.note_type(type);
  for (MPI_Count index = 0; index < count; ++index)
    derived.add({&type, checked_length(blocklengths, index), displacements[index] * type.extent});
  derived.lay_out();
  *made = derived.release_handle();
}

void type_create_hindexed(MPI_Count count, Numbers blocklengths, Numbers displacements, Datatype& type,
                          MPI_Datatype* made) {
  Derived derived(MPI_COMBINER_HINDEXED);
  derived.note(count);
  derived.note(blocklengths, count);
  derived.note_addresses(displacements, count);
  derived.note_type(type);
  for (MPI_Count index = 0; index < count; ++index)
    derived.add({&type, checked_length(blocklengths, index), displacements[index]});
  derived.lay_out();
  *made = derived.release_handle();
}

void type_create_indexed_block(MPI_Count count, MPI_Count blocklength, Numbers displacements, Datatype& type,
                               MPI_Datatype* made) {
  Derived derived(MPI_COMBINER_INDEXED_BLOCK);
  derived.note(count);
  derived.note(blocklength);
  derived.note(displacements, count);
  derived.note_type(type);
  for (MPI_Count index = 0; index < count; ++index)
    derived.add({&type, blocklength, displacements[index] * type.extent});
  derived.lay_out();
  *made = derived.release_handle();
}

void type_create_hindexed_block(MPI_Count count, MPI_Count blocklength, Numbers displacements, Datatype& type,
                                MPI_Datatype* made) {
  Derived derived(MPI_COMBINER_HINDEXED_BLOCK);
  derived.note(count);
  derived.note(blocklength);
  derived.note_addresses(displacements, count);
  derived.note_type(type);
  for (MPI_Count index = 0; index < count; ++index) derived.add({&type, blocklength, displacements[index]});
  derived.lay_out();
  *made = derived.release_handle();
}

void type_create_struct(MPI_Count count, Numbers blocklengths, Numbers displacements,
                        const MPI_Datatype* types, MPI_Datatype* made) {
  Derived derived(MPI_COMBINER_STRUCT);
  derived.note(count);
  derived.note(blocklengths, count);
  derived.note_addresses(displacements, count);
  for (MPI_Count index = 0; index < count; ++index) {
    auto* const type = find<Datatype>(types[index]);
    if (type == nullptr)
      fail(MPI_ERR_TYPE, "datatype %lld of the list is MPI_DATATYPE_NULL or none",
           static_cast<long long>(index));
    derived.note_type(*type);
    derived.add({type, checked_length(blocklengths, index), displacements[index]});
  }
  derived.lay_out();
  // As a C compiler pads a struct, so that arrays of it have the right stride.
  Datatype& whole = derived.type();
  if (!whole.has_own_ub && whole.alignment > 1 && whole.extent % whole.alignment != 0)
    whole.extent += whole.alignment - whole.extent % whole.alignment;
  *made = derived.release_handle();
}

void type_create_resized(Datatype& type, MPI_Count lb, MPI_Count extent, MPI_Datatype* made) {
  Derived derived(MPI_COMBINER_RESIZED);
  derived.note_address(lb);
  derived.note_address(extent);
  derived.note_type(type);
  derived.add({&type, 1, 0});
  derived.lay_out();
  derived.type().set_bounds(lb, extent);
  *made = derived.release_handle();
}

void type_dup(Datatype& type, MPI_Datatype* made) {
  Derived derived(MPI_COMBINER_DUP);
  derived.note_type(type);
  derived.add({&type, 1, 0});
  derived.lay_out();
  Datatype& copy = derived.type();
  copy.contents.is_large = false;
  copy.lb = type.lb;
  copy.extent = type.extent;
  copy.has_own_lb = type.has_own_lb;
  copy.has_own_ub = type.has_own_ub;
  copy.native = type.native;
  copy.second_native = type.second_native;
  *made = MPI_DATATYPE_NULL;  // where an attribute cannot be copied
  type.attributes.copy_to(copy.attributes, handle_of<MPI_Datatype>(&type));
  if (type.is_committed) {
    flatten(copy);
    copy.is_committed = true;
  }
  *made = derived.release_handle();
}

}  // namespace weft::mpi
