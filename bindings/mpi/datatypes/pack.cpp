#include "bindings/mpi/datatypes/pack.hpp"

#include "bindings/mpi/objects/blocks.hpp"

#include <algorithm>
#include <cstring>

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

/// Copies elements to where packed bytes go.
struct Packing {
  std::byte* to;

  [[nodiscard]] bool run(const Run& run, std::byte* element) noexcept {
    const std::byte* from = element + run.offset;
    switch (run.length) {
      case 4:
        gather_blocks<4>(to, from, run.repeats, run.stride);
        return true;
      case 8:
        gather_blocks<8>(to, from, run.repeats, run.stride);
        return true;
      case 16:
        gather_blocks<16>(to, from, run.repeats, run.stride);
        return true;
      default:
        for (MPI_Count block = 0; block < run.repeats; ++block, from += run.stride) {
          std::memcpy(to, from, static_cast<std::size_t>(run.length));
          to += run.length;
        }
        return true;
    }
  }
};

/// Copies packed bytes to elements, as many as there are.
struct Unpacking {
  const std::byte* from;
  MPI_Count bytes;

  /// Returns false when the bytes are used up.
  [[nodiscard]] bool run(const Run& run, std::byte* element) noexcept {
    std::byte* to = element + run.offset;
    if (bytes >= run.length * run.repeats) {
      whole_run(run, to);
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
  void whole_run(const Run& run, std::byte* to) noexcept {
    bytes -= run.length * run.repeats;
    switch (run.length) {
      case 4:
        return scatter_blocks<4>(to, from, run.repeats, run.stride);
      case 8:
        return scatter_blocks<8>(to, from, run.repeats, run.stride);
      case 16:
        return scatter_blocks<16>(to, from, run.repeats, run.stride);
      default:
        for (MPI_Count block = 0; block < run.repeats; ++block, to += run.stride, from += run.length)
          std::memcpy(to, from, static_cast<std::size_t>(run.length));
    }
  }
};

/// Stores where elements lie, as far as there is room.
struct Listing {
  std::span<MutableBytes> pieces;
  std::size_t found = 0;

  [[nodiscard]] bool run(const Run& run, std::byte* element) noexcept {
    if (found + static_cast<std::size_t>(run.repeats) > pieces.size()) return false;
    for (MPI_Count block = 0; block < run.repeats; ++block)
      pieces[found++] = {element + run.offset + block * run.stride, static_cast<std::size_t>(run.length)};
    return true;
  }
};

/// Goes through the runs of elements, in their order; a nested datatype's are in its parts. Returns false
/// when the copy needs no more of them.
template <class Copy>
bool for_each_run(const Datatype& type, MPI_Count count, std::byte* element, Copy& copy) noexcept {
  if (type.size == 0) return true;
  if (type.is_dense(count)) return copy.run({type.true_lb, type.size * count, 1, 0}, element);
  for (MPI_Count index = 0; index < count; ++index, element += type.extent) {
    for (const Run& run : type.runs)
      if (!copy.run(run, element)) return false;
    if (!type.is_nested) continue;
    for (const Part& part : type.parts)
      for (MPI_Count block = 0; block < part.repeats; ++block)
        if (!for_each_run(*part.type, part.blocklength, element + part.displacement + block * part.stride,
                          copy))
          return false;
  }
  return true;
}

}  // namespace

void pack_elements(const Datatype& type, MPI_Count count, const void* from, std::byte* to) noexcept {
  if (type.size == 0 || count == 0) return;
  if (type.is_dense(count)) {
    std::memcpy(to, shifted(from, type.true_lb), static_cast<std::size_t>(type.size * count));
    return;
  }
  Packing packing{to};
  static_cast<void>(for_each_run(type, count, shifted(from, 0), packing));
}

void unpack_elements(const Datatype& type, MPI_Count count, const std::byte* from, MPI_Count bytes,
                     void* to) noexcept {
  bytes = std::min(bytes, type.size * count);
  if (bytes <= 0) return;
  if (type.is_dense(count)) {
    std::memcpy(shifted(to, type.true_lb), from, static_cast<std::size_t>(bytes));
    return;
  }
  Unpacking unpacking{from, bytes};
  static_cast<void>(for_each_run(type, count, shifted(to, 0), unpacking));
}

std::size_t pieces_of(const Datatype& type, MPI_Count count, const void* buffer,
                      std::span<MutableBytes> pieces) noexcept {
  Listing listing{pieces};
  return for_each_run(type, count, shifted(buffer, 0), listing) ? listing.found : 0;
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
  } else if (to_type.is_dense(to_count) && bytes == from_type.size * from_count) {
    pack_elements(from_type, from_count, from, shifted(to, to_type.true_lb));
  } else {
    const Block packed = make_block(from_type.size * from_count);
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

}  // namespace weft::mpi
