// Memory regions of libraries over weft, which the program does not know of.
#pragma once

#include <weft/detail/export.hpp>

namespace weft {

/// While it lives, regions that the calling thread allocates (MemoryRegion::allocate) are a library's: they
/// take none of the regions that the program has (attribute `regions_max`), but some of 64 others of this
/// rank. Nests; destroyed by the thread that has made it.
class WEFT_API LibraryMemory {
 public:
  LibraryMemory() noexcept;
  ~LibraryMemory();
  LibraryMemory(const LibraryMemory&) = delete;
  LibraryMemory& operator=(const LibraryMemory&) = delete;
};

}  // namespace weft
