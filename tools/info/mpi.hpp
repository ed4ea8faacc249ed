// weft-mpi as this build has it: its functions and properties.
#pragma once

#include <string>

namespace weft::tools::info {

/// Whether this build has weft-mpi.
[[nodiscard]] bool has_mpi();
/// For people, and for programs.
[[nodiscard]] std::string mpi_as_table();
[[nodiscard]] std::string mpi_as_json();

}  // namespace weft::tools::info
