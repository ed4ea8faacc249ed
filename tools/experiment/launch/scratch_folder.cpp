#include "experiment/launch/scratch_folder.hpp"

#include <weft/error.hpp>

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace weft::tools {

ScratchFolder::ScratchFolder() {
  // mkdtemp() puts letters in the place of the last six.
  path_ = (std::filesystem::temp_directory_path() / "weft-experiment-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr)
    throw Error("the folder " + path_ + " cannot be made: " + std::strerror(errno));
  removed_on_signal_.emplace(path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace weft::tools
