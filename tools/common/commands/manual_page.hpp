#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/commands/command_description.hpp"

namespace weft::tools {

/// What a manual page says beside the options.
struct ManualNotes {
  std::string short_summary = {};                                     ///< of the line NAME
  std::vector<std::pair<std::string, std::string>> exit_codes = {};   ///< beside 0, 1 and 2
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< variables and what they do
  std::vector<std::string> see_also = {};                             ///< "weft-run(1)"
};

/// The page in the macros of man(7), section 1. `version`: of weft.
std::string manual_page(const CommandDescription& command, const ManualNotes& notes,
                        std::string_view version);

}  // namespace weft::tools
