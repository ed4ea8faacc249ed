// The calls of the group "datatypes".
#pragma once

#include "bindings/mpi/datatypes/datatype.hpp"
#include "bindings/mpi/objects/numbers.hpp"

namespace weft::mpi {

struct Communicator;

void type_contiguous(MPI_Count count, Datatype& type, MPI_Datatype* made);
void type_vector(MPI_Count count, MPI_Count blocklength, MPI_Count stride, Datatype& type,
                 MPI_Datatype* made);
void type_create_hvector(MPI_Count count, MPI_Count blocklength, MPI_Count stride, Datatype& type,
                         MPI_Datatype* made);
void type_indexed(MPI_Count count, Numbers blocklengths, Numbers displacements, Datatype& type,
                  MPI_Datatype* made);
void type_create_hindexed(MPI_Count count, Numbers blocklengths, Numbers displacements, Datatype& type,
                          MPI_Datatype* made);
void type_create_indexed_block(MPI_Count count, MPI_Count blocklength, Numbers displacements, Datatype& type,
                               MPI_Datatype* made);
void type_create_hindexed_block(MPI_Count count, MPI_Count blocklength, Numbers displacements, Datatype& type,
                                MPI_Datatype* made);
void type_create_struct(MPI_Count count, Numbers blocklengths, Numbers displacements,
                        const MPI_Datatype* types, MPI_Datatype* made);
void type_create_resized(Datatype& type, MPI_Count lb, MPI_Count extent, MPI_Datatype* made);
void type_create_subarray(int dimensions, Numbers sizes, Numbers subsizes, Numbers starts, int order,
                          Datatype& type, MPI_Datatype* made);
void type_create_darray(int size, int rank, int dimensions, Numbers sizes, const int* distributions,
                        const int* arguments, const int* processes, int order, Datatype& type,
                        MPI_Datatype* made);
void type_dup(Datatype& type, MPI_Datatype* made);
void type_create_f90_complex(int precision, int range, MPI_Datatype* made);
void type_create_f90_real(int precision, int range, MPI_Datatype* made);
void type_create_f90_integer(int range, MPI_Datatype* made);

void type_commit(MPI_Datatype* type);
void type_free(MPI_Datatype* type);
void type_size(Datatype& type, CountResult size);
void type_size_x(Datatype& type, MPI_Count* size);
void type_get_extent(Datatype& type, CountResult lb, CountResult extent);
void type_get_extent_x(Datatype& type, MPI_Count* lb, MPI_Count* extent);
void type_get_true_extent(Datatype& type, CountResult lb, CountResult extent);
void type_get_true_extent_x(Datatype& type, MPI_Count* lb, MPI_Count* extent);
/// Of MPI_DATATYPE_NULL, too.
void type_get_name(MPI_Datatype type, char* name, int* length);
void type_set_name(Datatype& type, const char* name);
void type_match_size(int typeclass, int size, MPI_Datatype* type);
void type_get_value_index(Datatype& value, Datatype& index, MPI_Datatype* pair);
void type_get_envelope(Datatype& type, int* integers, int* addresses, int* types, int* combiner);
void type_get_envelope_c(Datatype& type, MPI_Count* integers, MPI_Count* addresses, MPI_Count* counts,
                         MPI_Count* types, int* combiner);
void type_get_contents(Datatype& type, int max_integers, int max_addresses, int max_types, int* integers,
                       MPI_Aint* addresses, MPI_Datatype* types);
void type_get_contents_c(Datatype& type, MPI_Count max_integers, MPI_Count max_addresses,
                         MPI_Count max_counts, MPI_Count max_types, int* integers, MPI_Aint* addresses,
                         MPI_Count* counts, MPI_Datatype* types);

void pack(const void* from, MPI_Count count, Datatype& type, void* to, MPI_Count room, CountResult position,
          Communicator& communicator);
void unpack(const void* from, MPI_Count room, CountResult position, void* to, MPI_Count count, Datatype& type,
            Communicator& communicator);
void pack_size(MPI_Count count, Datatype& type, Communicator& communicator, CountResult size);
void pack_external(const char* representation, const void* from, MPI_Count count, Datatype& type, void* to,
                   MPI_Count room, CountResult position);
void unpack_external(const char* representation, const void* from, MPI_Count room, CountResult position,
                     void* to, MPI_Count count, Datatype& type);
void pack_external_size(const char* representation, MPI_Count count, Datatype& type, CountResult size);

}  // namespace weft::mpi
