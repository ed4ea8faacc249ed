// Variants of the parcelport by name: a port, and words for what differs from its default.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::tools::study {

struct Variant {
  std::string name;     ///< "weft:putsendrecv:immediate"
  std::string options;  ///< of the parcel runtime, without workers
  /// What starts its ranks, before "-n": `weft run`, or a launcher of MPI; its own arguments behind it.
  std::vector<std::string> launcher;
};

/// Throws weft::Error for a word that is none, and when the launcher is not installed.
[[nodiscard]] Variant variant_of(std::string_view name);
/// Of these names those whose launchers are installed; the others are added to `left_out` with the reason.
[[nodiscard]] std::vector<Variant> variants_that_run(const std::vector<std::string>& names,
                                                     std::vector<std::string>& left_out);

}  // namespace weft::tools::study
