// Joining jobs of launchers other than `weft run`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/attributes.hpp"
#include "bootstrap/bootstrap.hpp"

namespace weft::bootstrap::contact {

enum class Method : std::uint8_t { alone, pmi1, pmix, mpi, environment, srun };

struct Choice {
  Method method = Method::alone;
  std::string why;  // the variables that have told of it
};
/// "pmi1"
const char* name_of(Method method);

/// By which way this process finds the other ranks. `forced`: the value of WEFT_BOOTSTRAP, which is the name
/// of a method; empty: by what the launcher has set. Throws weft::Error when there is a launcher, and no way
/// to join its job: several ranks never become several jobs of one.
Choice choose(std::string_view forced);

/// Joins; the first time in a process by the exchange of the launcher. `name`: of the runtime. Throws
/// weft::Error.
std::unique_ptr<Bootstrap> join(const Choice& choice, const base::Attributes& attributes,
                                std::string_view name);

}  // namespace weft::bootstrap::contact
