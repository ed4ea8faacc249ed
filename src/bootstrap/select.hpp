#pragma once

#include <memory>

#include "base/attributes.hpp"
#include "bootstrap/bootstrap.hpp"

namespace weft::bootstrap {

/// Joins the job that the environment describes: the one of `weft run`, or a job of one rank when the
/// program was started alone. Throws weft::Error when another launcher's variables are found, rather
/// than becoming rank 0 of 1 as many times as that launcher starts the program.
std::unique_ptr<Bootstrap> select_bootstrap(const base::Attributes& attributes);

/// The variable of a launcher that this build cannot join, or null: the part that tests call.
const char* find_foreign_launcher();

}  // namespace weft::bootstrap
