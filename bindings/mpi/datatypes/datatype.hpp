// Datatypes: a tree of parts as the program builds them, flattened to runs of bytes when they are committed.
#pragma once

#include "bindings/mpi/attributes/attributes.hpp"
#include "bindings/mpi/objects/object.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

namespace weft::mpi {

/// What a basic datatype is in memory, for reductions and for the external representation.
enum class Native : std::uint8_t {
  none,  // bytes without a meaning
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  int128,
  float16,
  float32,
  float64,
  long_double,
  float128,
  complex32,
  complex64,
  complex_long_double,
  complex128,
  boolean,    // C's bool
  logical,    // Fortran's, of any size
  character,  // has an order for nobody
};

struct Datatype;

/// `repeats` blocks of `blocklength` elements, each block `stride` bytes behind the one before it.
struct Part {
  Datatype* type;
  MPI_Count blocklength;
  MPI_Aint displacement;
  MPI_Count repeats = 1;
  MPI_Aint stride = 0;
};

/// `repeats` blocks of `length` bytes, each `stride` bytes behind the one before it.
struct Run {
  MPI_Aint offset;
  MPI_Count length;
  MPI_Count repeats;
  MPI_Aint stride;
};

/// The arguments of the call that made a datatype (MPI_Type_get_contents).
struct Contents {
  int combiner = MPI_COMBINER_NAMED;
  bool is_large = false;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> counts;
  std::vector<Datatype*> types;  // retained
};

struct Datatype : Object {
  static constexpr Kind kKind = Kind::datatype;
  Datatype() noexcept : Object(kKind) {}
  ~Datatype();

  /// `count` elements lie in memory as one block, which begins at true_lb.
  [[nodiscard]] bool is_dense(MPI_Count count) const noexcept {
    return is_contiguous || (is_one_block && count <= 1);
  }
  /// Where the memory of `count` elements begins, gaps behind the last one included, and its bytes, in
  /// whichever direction the extent goes.
  [[nodiscard]] MPI_Aint first_of(MPI_Count count) const noexcept {
    return std::min({true_lb, lb, lb + extent}) + std::min<MPI_Aint>(0, (count - 1) * extent);
  }
  [[nodiscard]] MPI_Count span_of(MPI_Count count) const noexcept {
    if (count <= 0) return 0;
    return std::max({true_lb + true_extent, lb, lb + extent}) + std::max<MPI_Aint>(0, (count - 1) * extent) -
           first_of(count);
  }

  MPI_Count size = 0;
  MPI_Aint lb = 0, extent = 0, true_lb = 0, true_extent = 0;
  bool is_committed = false;
  bool is_contiguous = false;  // any number of elements is one block
  bool is_one_block = false;   // one element is
  // Bounds that the program has set (MPI_Type_create_resized, MPI_LB, MPI_UB), here or in a part: those of
  // other parts do not count then.
  bool has_own_lb = false, has_own_ub = false;
  Native native = Native::none;
  Native second_native = Native::none;  // of pairs for MPI_MINLOC
  int alignment = 1;
  MPI_Count basics = 0;  // basic elements in one element

  std::vector<Part> parts;  // their types are retained in `contents`, or predefined
  std::vector<Run> runs;    // once flattened, of one element
  bool is_nested = false;   // its runs would be too many: its parts have them, one below the other
  std::atomic<bool> is_flattened{false};
  Contents contents;
  std::string name;
  Attributes attributes{KeyvalOf::datatype};

  void set_bounds(MPI_Aint own_lb, MPI_Aint own_extent) noexcept {
    lb = own_lb;
    extent = own_extent;
    has_own_lb = has_own_ub = true;
  }
  /// MPI_LB or MPI_UB, which are bounds and no elements.
  [[nodiscard]] bool is_marker() const noexcept { return basics == 0 && predefined != 0; }
  [[nodiscard]] bool is_basic() const noexcept {
    return parts.empty() && contents.combiner == MPI_COMBINER_NAMED;
  }
  [[nodiscard]] bool is_predefined() const noexcept { return predefined != 0; }
};

/// Computes size and bounds from the parts.
void lay_out(Datatype& type);
/// Computes the runs, unless it has. Threads may do so at once for datatypes with parts in common.
void flatten(Datatype& type);

/// The predefined datatype of a C type, for use inside the library.
extern Datatype& byte_type;
extern Datatype& int_type;
extern Datatype& count_type;
/// What stands for MPI_DATATYPE_NULL where no datatype may be needed: not committed, and of no bytes.
extern Datatype no_type;

}  // namespace weft::mpi
