#include "bindings/mpi/operations/kernels.hpp"

#include <complex>
#include <cstdint>
#include <type_traits>

namespace weft::mpi {

namespace {

#ifdef __SIZEOF_INT128__
__extension__ using Int128 = __int128;
#endif

// Sums and products of short integers are computed as int and wrap when they are stored.
struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
struct Multiply {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a * b);
  }
};
struct Smaller {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Larger {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct BitAnd {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct And {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a != T{} && b != T{});
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a != T{} || b != T{});
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>((a != T{}) != (b != T{}));
  }
};

template <class T, class Operation>
void loop(const void* in, void* inout, MPI_Count count) {
  const T* const from = static_cast<const T*>(in);
  T* const to = static_cast<T*>(inout);
  for (MPI_Count index = 0; index < count; ++index) to[index] = Operation{}(from[index], to[index]);
}

template <class T>
constexpr bool kIsComplex = false;
template <class T>
constexpr bool kIsComplex<std::complex<T>> = true;

template <class T>
Kernel kernel_of(MPI_Op op) noexcept {
  constexpr bool kIsInteger = !kIsComplex<T> && !std::is_floating_point_v<T>;
  if constexpr (!std::is_same_v<T, bool>) {
    if (op == MPI_SUM) return loop<T, Add>;
    if (op == MPI_PROD) return loop<T, Multiply>;
    if constexpr (!kIsComplex<T>) {
      if (op == MPI_MIN) return loop<T, Smaller>;
      if (op == MPI_MAX) return loop<T, Larger>;
    }
    if constexpr (kIsInteger) {
      if (op == MPI_BAND) return loop<T, BitAnd>;
      if (op == MPI_BOR) return loop<T, BitOr>;
      if (op == MPI_BXOR) return loop<T, BitXor>;
    }
  }
  if constexpr (!kIsComplex<T>) {
    if (op == MPI_LAND) return loop<T, And>;
    if (op == MPI_LOR) return loop<T, Or>;
    if (op == MPI_LXOR) return loop<T, Xor>;
  }
  return nullptr;
}

template <class T>
Kernel logical_of(MPI_Op op) noexcept {
  if (op == MPI_LAND) return loop<T, And>;
  if (op == MPI_LOR) return loop<T, Or>;
  if (op == MPI_LXOR) return loop<T, Xor>;
  return nullptr;
}

/// A value and where it was found; of equal values the lower index counts.
template <class First, class Second>
struct Located {
  First value;
  Second index;
};
template <class Pair, bool kLargest>
void locate(const void* in, void* inout, MPI_Count count) {
  const Pair* const from = static_cast<const Pair*>(in);
  Pair* const to = static_cast<Pair*>(inout);
  for (MPI_Count index = 0; index < count; ++index) {
    const bool wins = kLargest ? to[index].value < from[index].value : from[index].value < to[index].value;
    const bool is_equal = !(from[index].value < to[index].value) && !(to[index].value < from[index].value);
    if (wins) to[index].value = from[index].value;  // not what pads the pair
    if (wins || (is_equal && from[index].index < to[index].index)) to[index].index = from[index].index;
  }
}
template <class First, class Second>
Kernel location_of(MPI_Op op) noexcept {
  if (op == MPI_MINLOC) return locate<Located<First, Second>, false>;
  if (op == MPI_MAXLOC) return locate<Located<First, Second>, true>;
  return nullptr;
}

Kernel pair_kernel(MPI_Op op, Native first, Native second) noexcept {
  if (second == Native::int32) {
    switch (first) {
      case Native::int16:
        return location_of<std::int16_t, std::int32_t>(op);
      case Native::int32:
        return location_of<std::int32_t, std::int32_t>(op);
      case Native::int64:
        return location_of<std::int64_t, std::int32_t>(op);
      case Native::float32:
        return location_of<float, std::int32_t>(op);
      case Native::float64:
        return location_of<double, std::int32_t>(op);
      case Native::long_double:
        return location_of<long double, std::int32_t>(op);
      default:
        return nullptr;
    }
  }
  if (first == Native::float32 && second == Native::float32) return location_of<float, float>(op);
  if (first == Native::float64 && second == Native::float64) return location_of<double, double>(op);
  return nullptr;
}

}  // namespace

Kernel find_kernel(int number, Native native, Native second) noexcept {
  const auto op = reinterpret_cast<MPI_Op>(static_cast<std::uintptr_t>(number));
  if (second != Native::none) return pair_kernel(op, native, second);
  switch (native) {
    case Native::int8:
      return kernel_of<std::int8_t>(op);
    case Native::uint8:
      return kernel_of<std::uint8_t>(op);
    case Native::int16:
      return kernel_of<std::int16_t>(op);
    case Native::uint16:
      return kernel_of<std::uint16_t>(op);
    case Native::int32:
      return kernel_of<std::int32_t>(op);
    case Native::uint32:
      return kernel_of<std::uint32_t>(op);
    case Native::int64:
      return kernel_of<std::int64_t>(op);
    case Native::uint64:
      return kernel_of<std::uint64_t>(op);
#ifdef __SIZEOF_INT128__
    case Native::int128:
      return kernel_of<Int128>(op);
#endif
    case Native::float32:
      return kernel_of<float>(op);
    case Native::float64:
      return kernel_of<double>(op);
    case Native::long_double:
      return kernel_of<long double>(op);
    case Native::complex32:
      return kernel_of<std::complex<float>>(op);
    case Native::complex64:
      return kernel_of<std::complex<double>>(op);
    case Native::complex_long_double:
      return kernel_of<std::complex<long double>>(op);
    case Native::boolean:
      return kernel_of<bool>(op);
    default:
      return nullptr;
  }
}

}  // namespace weft::mpi
