#include "bindings/mpi/datatypes/pack.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

namespace weft::mpi {

namespace {

template <std::size_t kBytes>
void gather_blocks(std::byte*& to, const std::byte* from, MPI_Count blocks, MPI_Aint stride) noexcept {
  for (MPI_Count block = 0; block < blocks; ++block, to += kBytes, from += stride)
    std::memcpy(to, from, kBytes);
}
template <std::size_t kBytes>
void scatter_blocks(std::byte* to, const std::byte*& from, MPI_Count blocks, MPI_Aint stride) noexcept {
  for (MPI_Count block = 0; block < blocks; ++block, from += kBytes, to += stride)
    std::memcpy(to, from, kBytes);
}

void pack_run(const Run& run, const std::byte* element, std::byte*& to) noexcept {
  const std::byte* from = element + run.offset;
  if (run.length == 8) return gather_blocks<8>(to, from, run.repeats, run.stride);
  if (run.length == 4) return gather_blocks<4>(to, from, run.repeats, run.stride);
  for (MPI_Count block = 0; block < run.repeats; ++block, from += run.stride) {
    std::memcpy(to, from, static_cast<std::size_t>(run.length));
    to += run.length;
  }
}

/// Returns false when the bytes are used up.
bool unpack_run(const Run& run, std::byte* element, const std::byte*& from, MPI_Count& bytes) noexcept {
  std::byte* to = element + run.offset;
  if (bytes >= run.length * run.repeats) {
    bytes -= run.length * run.repeats;
    if (run.length == 8)
      scatter_blocks<8>(to, from, run.repeats, run.stride);
    else if (run.length == 4)
      scatter_blocks<4>(to, from, run.repeats, run.stride);
    else
      for (MPI_Count block = 0; block < run.repeats; ++block, to += run.stride, from += run.length)
        std::memcpy(to, from, static_cast<std::size_t>(run.length));
    return bytes > 0;
  }
  for (MPI_Count block = 0; block < run.repeats && bytes > 0; ++block, to += run.stride) {
    const MPI_Count part = std::min(run.length, bytes);
    std::memcpy(to, from, static_cast<std::size_t>(part));
    from += part;
    bytes -= part;
  }
  return bytes > 0;
}

}  // namespace

void pack_elements(const Datatype& type, MPI_Count count, const void* from, std::byte* to) noexcept {
  if (type.size == 0 || count == 0) return;
  if (type.is_dense(count)) {
    std::memcpy(to, shifted(from, type.true_lb), static_cast<std::size_t>(type.size * count));
    return;
  }
  const std::byte* element = shifted(from, 0);
  for (MPI_Count index = 0; index < count; ++index, element += type.extent)
    for (const Run& run : type.runs) pack_run(run, element, to);
}

void unpack_elements(const Datatype& type, MPI_Count count, const std::byte* from, MPI_Count bytes,
                     void* to) noexcept {
  bytes = std::min(bytes, type.size * count);
  if (bytes <= 0) return;
  if (type.is_dense(count)) {
    std::memcpy(shifted(to, type.true_lb), from, static_cast<std::size_t>(bytes));
    return;
  }
  std::byte* element = shifted(to, 0);
  for (MPI_Count index = 0; index < count; ++index, element += type.extent)
    for (const Run& run : type.runs)
      if (!unpack_run(run, element, from, bytes)) return;
}

void copy_elements(const Datatype& from_type, MPI_Count from_count, const void* from, const Datatype& to_type,
                   MPI_Count to_count, void* to) {
  const MPI_Count bytes = std::min(from_type.size * from_count, to_type.size * to_count);
  if (bytes == 0) return;
  if (from_type.is_dense(from_count) && to_type.is_dense(to_count)) {
    std::memmove(shifted(to, to_type.true_lb), shifted(from, from_type.true_lb),
                 static_cast<std::size_t>(bytes));
  } else if (from_type.is_dense(from_count)) {
    unpack_elements(to_type, to_count, shifted(from, from_type.true_lb), bytes, to);
  } else {
    const auto packed = std::make_unique<std::byte[]>(static_cast<std::size_t>(from_type.size * from_count));
    pack_elements(from_type, from_count, from, packed.get());
    unpack_elements(to_type, to_count, packed.get(), bytes, to);
  }
}

MPI_Count basics_within(const Datatype& type, MPI_Count bytes, MPI_Count& rest) noexcept {
  if (type.size == 0) {
    rest = bytes;
    return 0;
  }
  MPI_Count found = bytes / type.size * type.basics;
  rest = bytes % type.size;
  if (rest == 0 || type.is_basic()) return found;
  for (const Part& part : type.parts) {
    const MPI_Count whole = part.type->size * part.blocklength * part.repeats;
    if (rest >= whole) {
      rest -= whole;
      found += part.type->basics * part.blocklength * part.repeats;
      continue;
    }
    return found + basics_within(*part.type, rest, rest);
  }
  return found;
}

MPI_Count bytes_of_basics(const Datatype& type, MPI_Count count) noexcept {
  if (type.basics == 0) return 0;
  MPI_Count bytes = count / type.basics * type.size;
  MPI_Count rest = count % type.basics;
  if (rest == 0) return bytes;
  for (const Part& part : type.parts) {
    const MPI_Count whole = part.type->basics * part.blocklength * part.repeats;
    if (rest < whole) return bytes + bytes_of_basics(*part.type, rest);
    rest -= whole;
    bytes += part.type->size * part.blocklength * part.repeats;
  }
  return bytes;
}

}  // namespace weft::mpi
