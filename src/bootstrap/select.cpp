#include "bootstrap/select.hpp"

#include <weft/error.hpp>

#include <cstdlib>
#include <string>

#include "base/parse.hpp"
#include "bootstrap/in_process/hub.hpp"
#include "bootstrap/local/client.hpp"
#include "bootstrap/single/single.hpp"

namespace weft::bootstrap {
namespace {

// Each of these variables alone shows that a launcher started the program as one of its ranks.
constexpr const char* kRankVariables[] = {"PMI_FD",
                                          "PMI_RANK",
                                          "PMI_PORT",
                                          "PMI2_FD",
                                          "PMIX_RANK",
                                          "PMIX_NAMESPACE",
                                          "OMPI_COMM_WORLD_RANK",
                                          "ALPS_APP_PE",
                                          "PALS_RANKID",
                                          "MV2_COMM_WORLD_RANK",
                                          "JSM_NAMESPACE_RANK",
                                          "FLUX_TASK_RANK"};

// These variables are also present when one process runs alone (a batch script is task 0 of 1), so the size
// decides.
constexpr struct {
  const char* rank;
  const char* size;
} kSizedVariables[] = {{"SLURM_PROCID", "SLURM_NTASKS"},
                       {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
                       {"PMI_SIZE", "PMI_SIZE"},
                       {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"}};

}  // namespace

const char* find_foreign_launcher() {
  for (const char* variable : kRankVariables) {
    if (std::getenv(variable) != nullptr) return variable;
  }
  for (const auto& variables : kSizedVariables) {
    const char* size = std::getenv(variables.size);
    if (std::getenv(variables.rank) != nullptr && size != nullptr &&
        base::parse_integer(size).value_or(0) > 1) {
      return variables.rank;
    }
  }
  return nullptr;
}

std::unique_ptr<Bootstrap> select_bootstrap(const base::Attributes& attributes, std::string_view name) {
  const double timeout = attributes.seconds(base::Attribute::bootstrap_timeout);
  if (std::getenv("WEFT_BOOTSTRAP") != nullptr)
    return join_local(local_job_from_environment(), timeout, name);
  if (const char* variable = find_foreign_launcher()) {
    throw Error("the environment variable " + std::string(variable) + "=" + std::getenv(variable) +
                " shows that another launcher (PMI, PMIx or Slurm) started this program, and this build "
                "joins only jobs "
                "of `weft run`: start it with `weft run -n N program`, or unset the variable to run a job of "
                "one rank");
  }
  return join_alone(Hub{1, timeout}.join(0, name));
}

}  // namespace weft::bootstrap
