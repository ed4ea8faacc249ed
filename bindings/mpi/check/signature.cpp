#include "bindings/mpi/check/signature.hpp"

#include <algorithm>
#include <optional>

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

/// An element that two signatures have of different kinds.
struct Difference {
  std::uint64_t number;  // from 0
  std::uint32_t one, other;
};

/// The first of them; none from where either has bytes, which may be anything.
std::optional<Difference> first_difference(const Signature& one, const Signature& other) noexcept {
  std::uint64_t number = 0;
  std::size_t run_of_one = 0, run_of_other = 0;
  std::uint64_t left_of_one = one.used > 0 ? one.runs[0].count : 0;
  std::uint64_t left_of_other = other.used > 0 ? other.runs[0].count : 0;
  while (run_of_one < one.used && run_of_other < other.used) {
    const std::uint32_t kind = one.runs[run_of_one].kind, other_kind = other.runs[run_of_other].kind;
    if (kind == 0 || other_kind == 0) return std::nullopt;
    if (kind != other_kind) return Difference{number, kind, other_kind};
    const std::uint64_t step = std::min(left_of_one, left_of_other);
    number += step;
    left_of_one -= step;
    left_of_other -= step;
    if (left_of_one == 0 && ++run_of_one < one.used) left_of_one = one.runs[run_of_one].count;
    if (left_of_other == 0 && ++run_of_other < other.used) left_of_other = other.runs[run_of_other].count;
  }
  return std::nullopt;
}

/// A signature that another process has sent.
Signature with_valid_length(Signature signature) noexcept {
  signature.used = std::min<std::uint64_t>(signature.used, Signature::kRuns);
  return signature;
}

}  // namespace

Signature signature_of(const Datatype& type, MPI_Count count) {
  Collector collector;
  collector.add(type, count);
  return collector.result;
}

std::string mismatch(const Signature& sent, const Signature& received) {
  const auto found = first_difference(with_valid_length(sent), received);
  if (!found) return "";
  return "its elements from number " + std::to_string(found->number) + " on were sent as " +
         name_of(found->one) + ", and are received as " + name_of(found->other);
}

std::pair<std::string, std::string> different_elements(const Signature& one, const Signature& other) {
  const auto found = first_difference(one, with_valid_length(other));
  if (!found) return {};
  const std::string which = "elements from number " + std::to_string(found->number) + " on: ";
  return {which + name_of(found->one), which + name_of(found->other)};
}

}  // namespace weft::mpi
