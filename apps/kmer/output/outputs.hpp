// The output files: written under temporary names, renamed together at success.
#pragma once

#include "input/file.hpp"
#include "input/input.hpp"

#include "common/files/removed_on_signal.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace kmer {

/// The author in PREFIX.json; the mark by which outputs of this program are recognized.
inline constexpr std::string_view kProgramName = "weft-kmer";

/// PREFIX.counts, PREFIX.json and PREFIX.svg. Existing files are replaced only if PREFIX.json says that this
/// program wrote it, and never if one of the inputs is among them. Rank 0 owns it; the other ranks write into
/// counts_path().
class Outputs {
 public:
  /// Checks the rule and creates the temporary files. Throws InputError.
  Outputs(const std::string& prefix, const std::vector<InputFile>& inputs);
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;
  /// Removes the temporary files unless commit() has renamed them.
  ~Outputs();

  /// The temporary name of PREFIX.counts.
  [[nodiscard]] const std::string& counts_path() const noexcept { return parts_[0].temporary; }
  void write_svg(std::string_view text) { parts_[1].file.write_at(text.data(), text.size(), 0); }
  /// There will be no PREFIX.svg, and no former one either.
  void leave_out_svg() { parts_[1].is_left_out = true; }
  void write_json(std::string_view text) { parts_[2].file.write_at(text.data(), text.size(), 0); }

  /// Renames all files to their final names. Throws InputError.
  void commit();

 private:
  struct Part {
    std::string path;
    std::string temporary;
    File file;
    weft::tools::RemovedOnSignal removed_on_signal;
    bool is_left_out = false;
  };
  std::vector<Part> parts_;  // counts, svg, json: the mark of the author comes last
};

}  // namespace kmer
