// Variants of the parcelport by name: a port, and words for what differs from its default.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::tools::study {

/// What the ranks of a variant run.
enum class Program {
  parcels,    ///< a parcel runtime
  plain_mpi,  ///< MPI without tasks (Task Bench's stencil only)
  starpu,     ///< StarPU-MPI (likewise)
  openmp,     ///< tasks of OpenMP in one process (trees only)
  ring,       ///< two threads that copy (the study parcels only)
};

struct Variant {
  Program program = Program::parcels;
  std::string name;     ///< "weft:putsendrecv:immediate"
  std::string options;  ///< of the parcel runtime, without workers
  /// What starts its ranks, before "-n": `weft run`, or a launcher of MPI; its own arguments behind it.
  std::vector<std::string> launcher;
};

/// The study that a program is for; empty: any.
[[nodiscard]] std::string_view study_of(Program program);
/// The file of Program::starpu or openmp, which is there when weft was built where that is installed.
[[nodiscard]] std::string path_of(Program program);
/// Throws weft::Error for a word that is none, and when the launcher is not installed.
[[nodiscard]] Variant variant_of(std::string_view name);
/// Of these names those whose launchers are installed; the others are added to `left_out` with the reason.
[[nodiscard]] std::vector<Variant> variants_that_run(const std::vector<std::string>& names,
                                                     std::vector<std::string>& left_out);

}  // namespace weft::tools::study
