#include "bindings/mpi/datatypes/external32.hpp"

#include "bindings/mpi/datatypes/pack.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace weft::mpi {

namespace {

struct Form {
  MPI_Count bytes;     // of one number in memory
  MPI_Count external;  // and outside
  int numbers = 1;     // 2: complex
  bool is_signed = false;
  bool is_long_double = false;
};

Form form_of(const Datatype& type) noexcept {
  const auto is = [&](MPI_Datatype handle) { return find<Datatype>(handle) == &type; };
  if (is(MPI_LONG)) return {type.size, 4, 1, true};
  if (is(MPI_UNSIGNED_LONG)) return {type.size, 4};
  if (is(MPI_WCHAR)) return {type.size, 2};
  switch (type.native) {
    case Native::complex32:
    case Native::complex64:
    case Native::complex128:
      return {type.size / 2, type.size / 2, 2};
    case Native::long_double:
      return {type.size, 16, 1, false, true};
    case Native::complex_long_double:
      return {type.size / 2, 16, 2, false, true};
    case Native::none:
      return {1, 1, static_cast<int>(type.size)};
    default:
      return {type.size, type.size};
  }
}

#ifdef __SIZEOF_FLOAT128__
using Quad = __float128;
#else
using Quad = long double;
#endif

void reversed(const std::byte* from, std::byte* to, MPI_Count bytes) noexcept {
  if constexpr (std::endian::native == std::endian::little)
    std::reverse_copy(from, from + bytes, to);
  else
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void write_number(const Form& form, const std::byte* from, std::byte* to) noexcept {
  std::byte number[16];
  std::memcpy(number, from, static_cast<std::size_t>(form.bytes));
  if (form.is_long_double) {
    long double value;
    std::memcpy(&value, from, sizeof value);
    const auto quad = static_cast<Quad>(value);
    std::memcpy(number, &quad, sizeof quad);
  }
  // Numbers that are longer here than outside lose their upper bytes.
  if constexpr (std::endian::native == std::endian::little)
    reversed(number, to, form.external);
  else
    std::memcpy(to, number + std::max<MPI_Count>(0, form.bytes - form.external),
                static_cast<std::size_t>(form.external));
}

void read_number(const Form& form, const std::byte* from, std::byte* to) noexcept {
  std::byte number[16] = {};
  reversed(from, number, form.external);
  if (form.is_long_double) {
    Quad quad;
    std::memcpy(&quad, number, sizeof quad);
    const auto value = static_cast<long double>(quad);
    std::memcpy(to, &value, sizeof value);
    return;
  }
  if constexpr (std::endian::native == std::endian::little) {
    const bool is_negative = form.is_signed && (std::to_integer<int>(from[0]) & 0x80) != 0;
    if (is_negative) std::fill(number + form.external, number + form.bytes, std::byte{0xff});
    std::memcpy(to, number, static_cast<std::size_t>(form.bytes));
  } else {
    const MPI_Count more = std::max<MPI_Count>(0, form.bytes - form.external);
    const bool is_negative = form.is_signed && (std::to_integer<int>(from[0]) & 0x80) != 0;
    std::fill(to, to + more, is_negative ? std::byte{0xff} : std::byte{0});
    std::memcpy(to + more, from, static_cast<std::size_t>(form.external));
  }
}

/// Calls visit(basic type, address) for each basic element of one element.
template <class Visit>
void for_each_basic(const Datatype& type, std::byte* element, const Visit& visit) {
  if (type.is_basic()) {
    visit(type, element);
    return;
  }
  for (const Part& part : type.parts)
    for (MPI_Count block = 0; block < part.repeats; ++block)
      for (MPI_Count index = 0; index < part.blocklength; ++index)
        for_each_basic(*part.type,
                       shifted(element, part.displacement + block * part.stride + index * part.type->extent),
                       visit);
}

}  // namespace

MPI_Count external_size(const Datatype& type) noexcept {
  if (type.is_basic()) {
    const Form form = form_of(type);
    return form.external * form.numbers;
  }
  MPI_Count size = 0;
  for (const Part& part : type.parts) size += external_size(*part.type) * part.blocklength * part.repeats;
  return size;
}

void write_external(const Datatype& type, MPI_Count count, const void* from, std::byte* to) noexcept {
  for (MPI_Count index = 0; index < count; ++index)
    for_each_basic(type, shifted(from, index * type.extent), [&](const Datatype& basic, const std::byte* at) {
      const Form form = form_of(basic);
      for (int number = 0; number < form.numbers; ++number, at += form.bytes, to += form.external)
        write_number(form, at, to);
    });
}

void read_external(const Datatype& type, MPI_Count count, const std::byte* from, void* to) noexcept {
  for (MPI_Count index = 0; index < count; ++index)
    for_each_basic(type, shifted(to, index * type.extent), [&](const Datatype& basic, std::byte* at) {
      const Form form = form_of(basic);
      for (int number = 0; number < form.numbers; ++number, at += form.bytes, from += form.external)
        read_number(form, from, at);
    });
}

}  // namespace weft::mpi
