#include "bindings/mpi/operations/operation.hpp"

#include "bindings/mpi/callers/program_image.hpp"
#include "bindings/mpi/datatypes/pack.hpp"
#include "bindings/mpi/errors/failure.hpp"
#include "bindings/mpi/operations/kernels.hpp"
#include "bindings/mpi/operations/operations_calls.hpp"

#include <algorithm>
#include <climits>

namespace weft::mpi {

namespace {

struct Predefined : Reduction {
  Predefined(MPI_Op op, const char* text, bool commutes = true) noexcept : Reduction(commutes) {
    name = text;
    predefined_op = static_cast<int>(reinterpret_cast<std::uintptr_t>(op));
    define(op, *this);
  }
};
Predefined predefined_operations[] = {{MPI_SUM, "MPI_SUM"},
                                      {MPI_MIN, "MPI_MIN"},
                                      {MPI_MAX, "MPI_MAX"},
                                      {MPI_PROD, "MPI_PROD"},
                                      {MPI_BAND, "MPI_BAND"},
                                      {MPI_BOR, "MPI_BOR"},
                                      {MPI_BXOR, "MPI_BXOR"},
                                      {MPI_LAND, "MPI_LAND"},
                                      {MPI_LOR, "MPI_LOR"},
                                      {MPI_LXOR, "MPI_LXOR"},
                                      {MPI_MINLOC, "MPI_MINLOC"},
                                      {MPI_MAXLOC, "MPI_MAXLOC"},
                                      {MPI_NO_OP, "MPI_NO_OP", false},
                                      {MPI_REPLACE, "MPI_REPLACE", false}};

/// Bytes without a meaning have bitwise operations; Fortran's logicals have logical ones, and its characters
/// are numbers, as MPI_CHAR is, which MPI leaves open and programs use; all else is in the table of loops.
Kernel kernel_for(const Reduction& operation, const Datatype& type) noexcept {
  const auto op = reinterpret_cast<MPI_Op>(static_cast<std::uintptr_t>(operation.predefined_op));
  const bool is_logical_op = op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR;
  const bool is_bit_op = op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR;
  Native native = type.native;
  if (native == Native::none && type.is_basic() && type.size == 1 && is_bit_op) native = Native::uint8;
  if (native == Native::character && type.size == 1) native = Native::int8;
  if (native == Native::logical && (is_logical_op || is_bit_op))
    native = type.size == 1   ? Native::int8
             : type.size == 2 ? Native::int16
             : type.size == 4 ? Native::int32
             : type.size == 8 ? Native::int64
                              : Native::int128;
  return find_kernel(operation.predefined_op, native, type.second_native);
}

}  // namespace

void Reduction::apply(const void* in, void* inout, MPI_Count count, Datatype& type) const {
  if (count == 0) return;
  if (predefined_op != 0) {
    const auto op = reinterpret_cast<MPI_Op>(static_cast<std::uintptr_t>(predefined_op));
    if (op == MPI_NO_OP) return;
    if (op == MPI_REPLACE) return copy_elements(type, count, in, type, count, inout);
    kernel_for(*this, type)(in, inout, count);
    return;
  }
  MPI_Datatype handle = handle_of<MPI_Datatype>(&type);
  void* const first = const_cast<void*>(in);
  if (large_function != nullptr) {
    large_function(first, inout, &count, &handle);
    return;
  }
  for (MPI_Count done = 0; done < count;) {
    int part = static_cast<int>(std::min<MPI_Count>(count - done, INT_MAX));
    function(shifted(first, done * type.extent), shifted(inout, done * type.extent), &part, &handle);
    done += part;
  }
}

void check_operation(const Reduction& operation, const Datatype& type) {
  if (operation.predefined_op == 0) return;
  const auto op = reinterpret_cast<MPI_Op>(static_cast<std::uintptr_t>(operation.predefined_op));
  if (op == MPI_NO_OP || op == MPI_REPLACE)
    fail(MPI_ERR_OP, "%s is for accesses to windows, not for reductions", operation.name);
  if (kernel_for(operation, type) == nullptr)
    fail(MPI_ERR_OP, "%s is not defined for the datatype%s%s", operation.name, type.name.empty() ? "" : " ",
         type.name.c_str());
}

namespace {
/// Which function it is, and whether it commutes; 0 for one of a library.
std::uint64_t identity_of(const void* function, bool commutes) noexcept {
  const std::uint64_t offset = offset_in_program(function);
  return offset == 0 ? 0 : 2 * offset + (commutes ? 1 : 0);
}
}  // namespace

void op_create(MPI_User_function* function, int commute, MPI_Op* op) {
  auto* const made = new Reduction(commute != 0);
  made->function = function;
  made->identity = identity_of(reinterpret_cast<const void*>(function), commute != 0);
  *op = handle_of<MPI_Op>(made);
}
void op_create_c(MPI_User_function_c* function, int commute, MPI_Op* op) {
  auto* const made = new Reduction(commute != 0);
  made->large_function = function;
  made->identity = identity_of(reinterpret_cast<const void*>(function), commute != 0);
  *op = handle_of<MPI_Op>(made);
}
void op_free(MPI_Op* handle) {
  auto* const operation = find<Reduction>(*handle);
  if (operation == nullptr) fail(MPI_ERR_OP, "the operation is MPI_OP_NULL or none");
  if (operation->predefined_op != 0)
    fail(MPI_ERR_OP, "%s is predefined and cannot be freed", operation->name);
  release(operation);
  *handle = MPI_OP_NULL;
}
void op_commutative(Reduction& operation, int* commute) { *commute = operation.is_commutative ? 1 : 0; }
void reduce_local(const void* in, void* inout, MPI_Count count, Datatype& type, Reduction& operation) {
  check_operation(operation, type);
  if (in == MPI_IN_PLACE || inout == MPI_IN_PLACE) fail(MPI_ERR_BUFFER, "MPI_IN_PLACE is for collectives");
  if (in == inout && in != nullptr && count > 0)
    fail(MPI_ERR_BUFFER, "both buffers are the same; values are combined with others");
  operation.apply(in, inout, count, type);
}

}  // namespace weft::mpi
