#pragma once

#include <memory>
#include <string_view>

#include "base/attributes.hpp"
#include "bootstrap/bootstrap.hpp"

namespace weft::bootstrap {

/// Joins the job that the environment describes: the one of `weft run`, or a job of one rank when the program
/// was started alone. Throws weft::Error when another launcher's variables are found, since otherwise each
/// process of that launcher would become rank 0 of 1. `name`: the runtime's name.
std::unique_ptr<Bootstrap> select_bootstrap(const base::Attributes& attributes, std::string_view name = {});

/// Returns the variable of a launcher that this build cannot join, or null. Separate for tests.
const char* find_foreign_launcher();

}  // namespace weft::bootstrap
