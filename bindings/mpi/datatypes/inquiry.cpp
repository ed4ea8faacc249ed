// What a datatype is: sizes, bounds, names; its commit and end.
#include "bindings/mpi/datatypes/datatypes_calls.hpp"
#include "bindings/mpi/errors/failure.hpp"

#include <cstdio>
#include <cstring>

namespace weft::mpi {

namespace {

Datatype& named(MPI_Datatype handle) {
  auto* const type = find<Datatype>(handle);
  if (type == nullptr) fail(MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL or none");
  return *type;
}

/// A Fortran type of a kind: a copy of a predefined one, which is never freed.
MPI_Datatype fortran_type(int combiner, MPI_Datatype like, int first, int second) {
  static struct {
    int combiner, first, second;
    MPI_Datatype made;
  } known[64];
  static int count = 0;
  for (int index = 0; index < count; ++index)
    if (known[index].combiner == combiner && known[index].first == first && known[index].second == second)
      return known[index].made;
  auto* const type = new Datatype;
  Datatype& model = named(like);
  type->parts = {{&model, 1, 0}};
  lay_out(*type);
  type->contents.combiner = combiner;
  type->contents.integers = {first};
  if (combiner != MPI_COMBINER_F90_INTEGER) type->contents.integers.push_back(second);
  type->native = model.native;
  flatten(*type);
  type->is_committed = true;
  const auto made = handle_of<MPI_Datatype>(type);
  if (count < 64) known[count++] = {combiner, first, second, made};
  return made;
}

}  // namespace

void type_commit(MPI_Datatype* handle) {
  Datatype& type = named(*handle);
  flatten(type);
  type.is_committed = true;
}

void type_free(MPI_Datatype* handle) {
  Datatype& type = named(*handle);
  if (type.is_predefined()) fail(MPI_ERR_TYPE, "%s is predefined and cannot be freed", type.name.c_str());
  type.attributes.clear(*handle);
  release(&type);
  *handle = MPI_DATATYPE_NULL;
}

void type_size(Datatype& type, CountResult size) { size = type.size; }
void type_size_x(Datatype& type, MPI_Count* size) { *size = type.size; }
void type_get_extent(Datatype& type, CountResult lb, CountResult extent) {
  lb = type.lb;
  extent = type.extent;
}
void type_get_extent_x(Datatype& type, MPI_Count* lb, MPI_Count* extent) {
  *lb = type.lb;
  *extent = type.extent;
}
void type_get_true_extent(Datatype& type, CountResult lb, CountResult extent) {
  lb = type.true_lb;
  extent = type.true_extent;
}
void type_get_true_extent_x(Datatype& type, MPI_Count* lb, MPI_Count* extent) {
  *lb = type.true_lb;
  *extent = type.true_extent;
}

void type_get_name(MPI_Datatype handle, char* name, int* length) {
  *length = std::snprintf(name, MPI_MAX_OBJECT_NAME, "%s",
                          handle == MPI_DATATYPE_NULL ? "MPI_DATATYPE_NULL" : named(handle).name.c_str());
}
void type_set_name(Datatype& type, const char* name) {
  type.name.assign(name, strnlen(name, MPI_MAX_OBJECT_NAME - 1));
}

void type_match_size(int typeclass, int size, MPI_Datatype* type) {
  struct Row {
    int typeclass, size;
    MPI_Datatype type;
  };
  const Row rows[] = {{MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
                      {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
                      {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16}, {MPI_TYPECLASS_REAL, 2, MPI_REAL2},
                      {MPI_TYPECLASS_REAL, 4, MPI_REAL4},         {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
                      {MPI_TYPECLASS_REAL, 16, MPI_REAL16},       {MPI_TYPECLASS_COMPLEX, 4, MPI_COMPLEX4},
                      {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},   {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
                      {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32}};
  for (const Row& row : rows)
    if (row.typeclass == typeclass && row.size == size) {
      *type = row.type;
      return;
    }
  fail(MPI_ERR_ARG, "there is no datatype of class %d with %d bytes", typeclass, size);
}

void type_get_value_index(Datatype& value, Datatype& index, MPI_Datatype* pair) {
  const MPI_Datatype pairs[][3] = {{MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
                                   {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
                                   {MPI_LONG, MPI_INT, MPI_LONG_INT},
                                   {MPI_INT, MPI_INT, MPI_2INT},
                                   {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
                                   {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
                                   {MPI_REAL, MPI_REAL, MPI_2REAL},
                                   {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
                                   {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER}};
  *pair = MPI_DATATYPE_NULL;
  for (const auto& row : pairs)
    if (find<Datatype>(row[0]) == &value && find<Datatype>(row[1]) == &index) *pair = row[2];
}

void type_create_f90_real(int precision, int range, MPI_Datatype* made) {
  const int digits = precision == MPI_UNDEFINED ? 0 : precision,
            exponent = range == MPI_UNDEFINED ? 0 : range;
  if ((precision == MPI_UNDEFINED && range == MPI_UNDEFINED) || digits > 33 || exponent > 4931)
    fail(MPI_ERR_ARG, "no real of %d digits and an exponent of %d", precision, range);
  const MPI_Datatype like = digits > 15 || exponent > 307 ? MPI_REAL16
                            : digits > 6 || exponent > 37 ? MPI_REAL8
                                                          : MPI_REAL4;
  *made = fortran_type(MPI_COMBINER_F90_REAL, like, precision, range);
}
void type_create_f90_complex(int precision, int range, MPI_Datatype* made) {
  const int digits = precision == MPI_UNDEFINED ? 0 : precision,
            exponent = range == MPI_UNDEFINED ? 0 : range;
  if ((precision == MPI_UNDEFINED && range == MPI_UNDEFINED) || digits > 33 || exponent > 4931)
    fail(MPI_ERR_ARG, "no complex of %d digits and an exponent of %d", precision, range);
  const MPI_Datatype like = digits > 15 || exponent > 307 ? MPI_COMPLEX32
                            : digits > 6 || exponent > 37 ? MPI_COMPLEX16
                                                          : MPI_COMPLEX8;
  *made = fortran_type(MPI_COMBINER_F90_COMPLEX, like, precision, range);
}
void type_create_f90_integer(int range, MPI_Datatype* made) {
  if (range > 38) fail(MPI_ERR_ARG, "no integer of %d digits; up to 38 are possible", range);
  const MPI_Datatype like = range > 18  ? MPI_INTEGER16
                            : range > 9 ? MPI_INTEGER8
                            : range > 4 ? MPI_INTEGER4
                            : range > 2 ? MPI_INTEGER2
                                        : MPI_INTEGER1;
  *made = fortran_type(MPI_COMBINER_F90_INTEGER, like, range, 0);
}

}  // namespace weft::mpi
