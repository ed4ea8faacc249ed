#include "bindings/mpi/check/signature.hpp"

#include <algorithm>

namespace weft::mpi {

namespace {

constexpr std::uint32_t kMany = ~std::uint32_t{0};

std::uint32_t kind_of(Native native, MPI_Count size) noexcept {
  return native == Native::none ? 0
                                : static_cast<std::uint32_t>(native) << 16 | static_cast<std::uint32_t>(size);
}

const char* name_of(std::uint32_t kind) noexcept {
  switch (static_cast<Native>(kind >> 16)) {
    case Native::int8:
      return "signed 1-byte integers (char)";
    case Native::uint8:
      return "unsigned 1-byte integers";
    case Native::int16:
      return "signed 2-byte integers (short)";
    case Native::uint16:
      return "unsigned 2-byte integers";
    case Native::int32:
      return "signed 4-byte integers (int)";
    case Native::uint32:
      return "unsigned 4-byte integers";
    case Native::int64:
      return "signed 8-byte integers (long)";
    case Native::uint64:
      return "unsigned 8-byte integers";
    case Native::int128:
      return "16-byte integers";
    case Native::float16:
      return "2-byte floating point numbers";
    case Native::float32:
      return "4-byte floating point numbers (float)";
    case Native::float64:
      return "8-byte floating point numbers (double)";
    case Native::long_double:
      return "long double";
    case Native::float128:
      return "16-byte floating point numbers";
    case Native::complex32:
      return "complex numbers of float";
    case Native::complex64:
      return "complex numbers of double";
    case Native::complex_long_double:
    case Native::complex128:
      return "complex numbers of long double";
    case Native::boolean:
      return "C's bool";
    case Native::logical:
      return "Fortran's LOGICAL";
    case Native::character:
      return "characters";
    case Native::none:
      break;
  }
  return "bytes";
}

/// Collects runs until there is no room for more.
class Collector {
 public:
  /// Returns false when it is full.
  bool add(std::uint32_t kind, MPI_Count count) {
    if (count == 0) return true;
    if (result.used > 0 && result.runs[result.used - 1].kind == kind) {
      Signature::Run& last = result.runs[result.used - 1];
      last.count = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(std::uint64_t{last.count} + static_cast<std::uint64_t>(count), kMany));
      return true;
    }
    if (result.used == Signature::kRuns) return false;
    result.runs[result.used++] = {
        kind, static_cast<std::uint32_t>(std::min<std::uint64_t>(static_cast<std::uint64_t>(count), kMany))};
    return true;
  }
  bool add(const Datatype& type, MPI_Count count) {
    if (count == 0 || type.size == 0) return true;
    if (type.is_basic()) return add(kind_of(type.native, type.size), count);
    for (MPI_Count element = 0; element < count; ++element) {
      const Signature before = result;
      for (const Part& part : type.parts)
        if (!add(*part.type, part.blocklength * part.repeats)) return false;
      // Elements of one kind: the rest is as the first.
      if (element == 0 && result.used <= 1 && result.used == std::max<std::uint64_t>(before.used, 1)) {
        const std::uint64_t each = result.runs[0].count - (before.used == 1 ? before.runs[0].count : 0);
        const std::uint64_t all = result.runs[0].count + each * static_cast<std::uint64_t>(count - 1);
        result.runs[0].count = static_cast<std::uint32_t>(std::min<std::uint64_t>(all, kMany));
        return true;
      }
    }
    return true;
  }
  Signature result;
};

}  // namespace

Signature signature_of(const Datatype& type, MPI_Count count) {
  Collector collector;
  collector.add(type, count);
  return collector.result;
}

std::string mismatch(const Signature& sent, const Signature& received) {
  std::uint64_t number = 0;  // of the element that is compared, from 0
  std::size_t one = 0, other = 0;
  const std::size_t sent_runs = std::min<std::size_t>(sent.used, Signature::kRuns);
  std::uint64_t left = sent_runs > 0 ? sent.runs[0].count : 0;
  std::uint64_t room = received.used > 0 ? received.runs[0].count : 0;
  while (one < sent_runs && other < received.used) {
    const std::uint32_t kind = sent.runs[one].kind, expected = received.runs[other].kind;
    if (kind == 0 || expected == 0) return "";  // bytes may be anything
    if (kind != expected)
      return "its elements from number " + std::to_string(number) + " on were sent as " + name_of(kind) +
             ", and are received as " + name_of(expected);
    const std::uint64_t step = std::min(left, room);
    number += step;
    left -= step;
    room -= step;
    if (left == 0 && ++one < sent_runs) left = sent.runs[one].count;
    if (room == 0 && ++other < received.used) room = received.runs[other].count;
  }
  return "";
}

}  // namespace weft::mpi
