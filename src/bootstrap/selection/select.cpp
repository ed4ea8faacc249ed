#include "bootstrap/selection/select.hpp"

#include <cstdlib>
#include <string>

#include "bootstrap/contact/join.hpp"
#include "bootstrap/local/client.hpp"

namespace weft::bootstrap {

namespace {

constexpr std::string_view kSocketOfLauncher = "weft-";  // begins what `weft run` sets

std::string_view variable() {
  const char* const value = std::getenv("WEFT_BOOTSTRAP");
  return value != nullptr ? value : "";
}

}  // namespace

std::unique_ptr<Bootstrap> select_bootstrap(const base::Attributes& attributes, std::string_view name) {
  if (variable().starts_with(kSocketOfLauncher))
    return join_local(local_job_from_environment(), attributes.seconds(base::Attribute::bootstrap_timeout),
                      name);
  return contact::join(contact::choose(variable()), attributes, name);
}

std::string describe_bootstrap() {
  if (variable().starts_with(kSocketOfLauncher)) return "local: `weft run` (WEFT_BOOTSTRAP)";
  const contact::Choice choice = contact::choose(variable());
  return std::string(contact::name_of(choice.method)) + ": " + choice.why;
}

}  // namespace weft::bootstrap
