#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/attributes.hpp"
#include "bootstrap/bootstrap.hpp"

namespace weft::bootstrap {

/// Joins the job that the environment describes: the one of `weft run`, that of another launcher (contact/),
/// or a job of one rank when the program was started alone. Throws weft::Error when another launcher's job
/// cannot be joined, since otherwise each of its processes would become rank 0 of 1. `name`: the runtime's
/// name.
std::unique_ptr<Bootstrap> select_bootstrap(const base::Attributes& attributes, std::string_view name = {});

/// Which way select_bootstrap() would take, and why: "pmi1: PMI_FD=8". Throws weft::Error likewise.
std::string describe_bootstrap();

}  // namespace weft::bootstrap
