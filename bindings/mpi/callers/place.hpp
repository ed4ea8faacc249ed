// Where in the program a call was made, for lines that people read: found from a return address when such a
// line is written, and never before.
#pragma once

#include <cstdint>
#include <string>

namespace weft::mpi {

struct Place {
  std::string file;        // of the source; empty: the program was compiled without -g
  std::uint32_t line = 0;  // 0: unknown
  std::string function;    // "main+0x4f of halo", or "0x1234 of halo"; empty: nothing is known
};

/// The place of the call that returns to this address. Reads the file of the program or library: slow the
/// first time, remembered afterwards; the reference stays valid. Any thread.
[[nodiscard]] const Place& place_of(const void* return_address);

/// "halo.c:12", or "main+0x4f of halo"; empty where nothing is known.
[[nodiscard]] std::string described(const Place& place);

}  // namespace weft::mpi
