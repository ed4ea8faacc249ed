// Names of files of which each rank of a job writes one.
#pragma once

#include <string>
#include <string_view>

namespace weft::base {

/// Returns the path of a rank's file. `where`: "on": `in_folder` in the working folder; a folder: `in_folder`
/// in it; otherwise the path itself. In paths, %r becomes the rank, %p the process and %j the job; a path
/// without %r and %p gets the rank before its extension when the job has several ranks.
[[nodiscard]] std::string rank_file_name(std::string_view where, std::string_view in_folder, int rank,
                                         int size, std::string_view job);

}  // namespace weft::base
