#include <weft/error.hpp>

#include <sys/stat.h>

#include <cstdlib>
#include <optional>

#include "base/text/parse.hpp"
#include "bootstrap/contact/join.hpp"
#include "bootstrap/launchers/environment/environment.hpp"
#include "bootstrap/launchers/mpi/mpi.hpp"
#include "bootstrap/launchers/pmix/pmix.hpp"

namespace weft::bootstrap::contact {

namespace {

constexpr std::pair<const char*, Method> kMethods[] = {{"alone", Method::alone},
                                                       {"pmi1", Method::pmi1},
                                                       {"pmix", Method::pmix},
                                                       {"mpi", Method::mpi},
                                                       {"environment", Method::environment},
                                                       {"srun", Method::srun}};

/// Variables of launchers whose jobs this build does not join, and of those that tell how many ranks there
/// are.
constexpr struct {
  const char* variable;
  const char* size;
} kOthers[] = {{"PMI_PORT", "PMI_SIZE"},
               {"PMI2_FD", "PMI_SIZE"},
               {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
               {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
               {"PALS_RANKID", "PALS_SIZE"},
               {"ALPS_APP_PE", "ALPS_APP_SIZE"},
               {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
               {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
               {"PMIX_RANK", "OMPI_COMM_WORLD_SIZE"},
               {"PMIX_NAMESPACE", "OMPI_COMM_WORLD_SIZE"},
               {"PMI_RANK", "PMI_SIZE"}};

std::string shown(const char* name) { return std::string(name) + "=" + std::getenv(name); }
bool is_set(const char* name) { return std::getenv(name) != nullptr; }
bool is_one(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && base::parse_integer(value).value_or(0) == 1;
}

/// Processes that a rank has started have the variable, and not the socket.
bool is_open_socket(const char* name) {
  const char* const text = std::getenv(name);
  const auto number = text == nullptr ? std::nullopt : base::parse_integer(text);
  struct stat status {};
  return number && *number >= 0 && ::fstat(static_cast<int>(*number), &status) == 0 &&
         S_ISSOCK(status.st_mode);
}

Choice forced_choice(std::string_view forced) {
  for (const auto& [name, method] : kMethods)
    if (forced == name) return {method, "WEFT_BOOTSTRAP=" + std::string(forced)};
  throw Error(
      ErrorClass::job,
      "WEFT_BOOTSTRAP=" + std::string(forced) +
          " is not valid: it must be alone, pmi1, pmix, mpi, environment or srun, or what `weft run` sets");
}

}  // namespace

const char* name_of(Method method) {
  for (const auto& [name, each] : kMethods)
    if (each == method) return name;
  return "?";
}

Choice choose(std::string_view forced) {
  if (!forced.empty()) return forced_choice(forced);
  // MPI of one rank may be that of another library than the launcher's: then the launcher tells.
  if (has_mpi() && size_of_mpi() > 1) return {Method::mpi, "the program has called MPI_Init"};
  // Whoever sets these has been started by any of the launchers below.
  if (is_set("RANK") && is_set("WORLD_SIZE") && is_set("MASTER_ADDR") && is_set("MASTER_PORT")) {
    const auto job = job_of_torchrun();
    return {job->size > 1 ? Method::environment : Method::alone, shown("RANK") + ", " + shown("WORLD_SIZE")};
  }
  if (is_open_socket("PMI_FD")) {
    if (is_one("PMI_SIZE")) return {Method::alone, shown("PMI_SIZE")};
    return {Method::pmi1, shown("PMI_FD")};
  }
  if (is_set("PMIX_RANK") && is_set("PMIX_NAMESPACE")) {
    if (is_one("OMPI_COMM_WORLD_SIZE")) return {Method::alone, shown("OMPI_COMM_WORLD_SIZE")};
    const std::string fault = why_no_pmix();
    if (!fault.empty())
      throw Error(ErrorClass::job, "the launcher speaks PMIx (" + shown("PMIX_RANK") +
                                       "), whose library cannot be opened: " + fault +
                                       "; install libpmix2, or start the program with `weft run`");
    return {Method::pmix, shown("PMIX_RANK")};
  }
  if (is_set("PMI_FD") && !is_one("PMI_SIZE"))
    return {Method::pmi1, shown("PMI_FD")};  // which will tell what is wrong
  if (const auto job = job_of_srun(); job.has_value()) return {Method::srun, shown("SLURM_PROCID")};
  for (const auto& [variable, size] : kOthers)
    if (is_set(variable) && !is_one(size))
      throw Error(ErrorClass::job, "the environment variable " + shown(variable) +
                                       " shows that another launcher started this program, and none of the "
                                       "ways by which this build joins "
                                       "jobs (PMI-1 by PMI_FD, PMIx, MPI, RANK and WORLD_SIZE, `weft run`) "
                                       "is there: start it with `weft "
                                       "run "
                                       "-n N program`, or unset the variable to run a job of one rank");
  if (const auto job = job_of_torchrun(); job.has_value() && job->size > 1)
    return {Method::environment, shown("RANK") + ", " + shown("WORLD_SIZE")};
  return {Method::alone, "no launcher has set anything"};
}

}  // namespace weft::bootstrap::contact
