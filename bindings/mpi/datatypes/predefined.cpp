// The predefined datatypes.
#include "bindings/mpi/datatypes/datatype.hpp"

#include <complex>
#include <cwchar>

namespace weft::mpi {

namespace {

struct Basic : Datatype {
  Basic(MPI_Datatype handle, const char* text, MPI_Count bytes, int aligned_to, Native what) {
    size = extent = true_extent = bytes;
    alignment = aligned_to;
    native = what;
    basics = 1;
    name = text;
    is_committed = is_contiguous = is_one_block = true;
    is_flattened.store(true, std::memory_order_relaxed);
    runs = {{0, bytes, 1, 0}};
    define(handle, *this);
  }
};

constexpr Native signed_of(std::size_t bytes) {
  return bytes == 1 ? Native::int8 : bytes == 2 ? Native::int16 : bytes == 4 ? Native::int32 : Native::int64;
}
constexpr Native unsigned_of(std::size_t bytes) {
  return bytes == 1   ? Native::uint8
         : bytes == 2 ? Native::uint16
         : bytes == 4 ? Native::uint32
                      : Native::uint64;
}

// Each names its handle itself: passed on, the handle would be expanded before it becomes a text.
#define WEFT_MPI_C(name, type, native) \
  { name, #name, sizeof(type), alignof(type), native }
#define WEFT_MPI_SIGNED(name, type) \
  { name, #name, sizeof(type), alignof(type), signed_of(sizeof(type)) }
#define WEFT_MPI_UNSIGNED(name, type) \
  { name, #name, sizeof(type), alignof(type), unsigned_of(sizeof(type)) }
#define WEFT_MPI_SIZED(name, bytes, alignment, native) \
  { name, #name, bytes, alignment, native }

Basic basics[] = {
    WEFT_MPI_SIGNED(MPI_AINT, MPI_Aint),
    WEFT_MPI_SIGNED(MPI_COUNT, MPI_Count),
    WEFT_MPI_SIGNED(MPI_OFFSET, MPI_Offset),
    WEFT_MPI_SIZED(MPI_PACKED, 1, 1, Native::none),
    WEFT_MPI_SIGNED(MPI_SHORT, short),
    WEFT_MPI_SIGNED(MPI_INT, int),
    WEFT_MPI_SIGNED(MPI_LONG, long),
    {MPI_LONG_LONG, "MPI_LONG_LONG_INT", sizeof(long long), alignof(long long), Native::int64},
    WEFT_MPI_UNSIGNED(MPI_UNSIGNED_SHORT, unsigned short),
    WEFT_MPI_UNSIGNED(MPI_UNSIGNED, unsigned),
    WEFT_MPI_UNSIGNED(MPI_UNSIGNED_LONG, unsigned long),
    WEFT_MPI_UNSIGNED(MPI_UNSIGNED_LONG_LONG, unsigned long long),
    WEFT_MPI_C(MPI_FLOAT, float, Native::float32),
    {MPI_C_COMPLEX, "MPI_C_COMPLEX", sizeof(std::complex<float>), alignof(std::complex<float>),
     Native::complex32},
    WEFT_MPI_C(MPI_CXX_FLOAT_COMPLEX, std::complex<float>, Native::complex32),
    WEFT_MPI_C(MPI_DOUBLE, double, Native::float64),
    WEFT_MPI_C(MPI_C_DOUBLE_COMPLEX, std::complex<double>, Native::complex64),
    WEFT_MPI_C(MPI_CXX_DOUBLE_COMPLEX, std::complex<double>, Native::complex64),
    WEFT_MPI_SIZED(MPI_LOGICAL, 4, 4, Native::logical),
    WEFT_MPI_SIZED(MPI_INTEGER, 4, 4, Native::int32),
    WEFT_MPI_SIZED(MPI_REAL, 4, 4, Native::float32),
    WEFT_MPI_SIZED(MPI_COMPLEX, 8, 4, Native::complex32),
    WEFT_MPI_SIZED(MPI_DOUBLE_PRECISION, 8, 8, Native::float64),
    WEFT_MPI_SIZED(MPI_DOUBLE_COMPLEX, 16, 8, Native::complex64),
    WEFT_MPI_SIZED(MPI_CHARACTER, 1, 1, Native::character),
    WEFT_MPI_C(MPI_LONG_DOUBLE, long double, Native::long_double),
    WEFT_MPI_C(MPI_C_LONG_DOUBLE_COMPLEX, std::complex<long double>, Native::complex_long_double),
    WEFT_MPI_C(MPI_CXX_LONG_DOUBLE_COMPLEX, std::complex<long double>, Native::complex_long_double),
    WEFT_MPI_C(MPI_C_BOOL, bool, Native::boolean),
    WEFT_MPI_C(MPI_CXX_BOOL, bool, Native::boolean),
    WEFT_MPI_C(MPI_WCHAR, wchar_t, Native::character),
    WEFT_MPI_SIGNED(MPI_INT8_T, std::int8_t),
    WEFT_MPI_UNSIGNED(MPI_UINT8_T, std::uint8_t),
    WEFT_MPI_C(MPI_CHAR, char, Native::int8),
    WEFT_MPI_SIGNED(MPI_SIGNED_CHAR, signed char),
    WEFT_MPI_UNSIGNED(MPI_UNSIGNED_CHAR, unsigned char),
    WEFT_MPI_SIZED(MPI_BYTE, 1, 1, Native::none),
    WEFT_MPI_SIGNED(MPI_INT16_T, std::int16_t),
    WEFT_MPI_UNSIGNED(MPI_UINT16_T, std::uint16_t),
    WEFT_MPI_SIGNED(MPI_INT32_T, std::int32_t),
    WEFT_MPI_UNSIGNED(MPI_UINT32_T, std::uint32_t),
    WEFT_MPI_SIGNED(MPI_INT64_T, std::int64_t),
    WEFT_MPI_UNSIGNED(MPI_UINT64_T, std::uint64_t),
    WEFT_MPI_SIZED(MPI_LOGICAL1, 1, 1, Native::logical),
    WEFT_MPI_SIZED(MPI_LOGICAL2, 2, 2, Native::logical),
    WEFT_MPI_SIZED(MPI_LOGICAL4, 4, 4, Native::logical),
    WEFT_MPI_SIZED(MPI_LOGICAL8, 8, 8, Native::logical),
    WEFT_MPI_SIZED(MPI_LOGICAL16, 16, 16, Native::logical),
    WEFT_MPI_SIZED(MPI_INTEGER1, 1, 1, Native::int8),
    WEFT_MPI_SIZED(MPI_INTEGER2, 2, 2, Native::int16),
    WEFT_MPI_SIZED(MPI_INTEGER4, 4, 4, Native::int32),
    WEFT_MPI_SIZED(MPI_INTEGER8, 8, 8, Native::int64),
    WEFT_MPI_SIZED(MPI_INTEGER16, 16, 16, Native::int128),
    WEFT_MPI_SIZED(MPI_REAL2, 2, 2, Native::float16),
    WEFT_MPI_SIZED(MPI_REAL4, 4, 4, Native::float32),
    WEFT_MPI_SIZED(MPI_REAL8, 8, 8, Native::float64),
    WEFT_MPI_SIZED(MPI_REAL16, 16, 16, Native::float128),
    WEFT_MPI_SIZED(MPI_COMPLEX4, 4, 2, Native::none),
    WEFT_MPI_SIZED(MPI_COMPLEX8, 8, 4, Native::complex32),
    WEFT_MPI_SIZED(MPI_COMPLEX16, 16, 8, Native::complex64),
    WEFT_MPI_SIZED(MPI_COMPLEX32, 32, 16, Native::complex128),
};

/// MPI_LB and MPI_UB, which MPI has removed.
struct Marker : Datatype {
  Marker(MPI_Datatype handle, const char* text, bool is_lower) {
    has_own_lb = is_lower;
    has_own_ub = !is_lower;
    name = text;
    is_committed = is_contiguous = is_one_block = true;
    is_flattened.store(true, std::memory_order_relaxed);
    define(handle, *this);
  }
};
Marker markers[] = {{MPI_LB, "MPI_LB", true}, {MPI_UB, "MPI_UB", false}};

Datatype& basic_of(MPI_Datatype handle) { return *find<Datatype>(handle); }

/// A pair of a value and an int, as MPI_MINLOC takes it: a struct of C.
struct Pair : Datatype {
  Pair(MPI_Datatype handle, const char* text, MPI_Datatype first, MPI_Datatype second, MPI_Aint offset,
       MPI_Aint bytes) {
    parts = {{&basic_of(first), 1, 0}, {&basic_of(second), 1, offset}};
    lay_out(*this);
    extent = bytes;
    native = basic_of(first).native;
    second_native = basic_of(second).native;
    name = text;
    flatten(*this);
    is_committed = true;
    define(handle, *this);
  }
};
template <class First>
struct WithInt {
  First value;
  int index;
};
#define WEFT_MPI_PAIR(name, type, first) \
  { name, #name, first, MPI_INT, offsetof(WithInt<type>, index), sizeof(WithInt<type>) }

Pair pairs[] = {
    WEFT_MPI_PAIR(MPI_FLOAT_INT, float, MPI_FLOAT),
    WEFT_MPI_PAIR(MPI_DOUBLE_INT, double, MPI_DOUBLE),
    WEFT_MPI_PAIR(MPI_LONG_INT, long, MPI_LONG),
    WEFT_MPI_PAIR(MPI_2INT, int, MPI_INT),
    WEFT_MPI_PAIR(MPI_SHORT_INT, short, MPI_SHORT),
    WEFT_MPI_PAIR(MPI_LONG_DOUBLE_INT, long double, MPI_LONG_DOUBLE),
    {MPI_2REAL, "MPI_2REAL", MPI_REAL, MPI_REAL, 4, 8},
    {MPI_2DOUBLE_PRECISION, "MPI_2DOUBLE_PRECISION", MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, 8, 16},
    {MPI_2INTEGER, "MPI_2INTEGER", MPI_INTEGER, MPI_INTEGER, 4, 8},
};

}  // namespace

Datatype& byte_type = basic_of(MPI_BYTE);
Datatype& int_type = basic_of(MPI_INT);
Datatype& count_type = basic_of(MPI_COUNT);

}  // namespace weft::mpi
