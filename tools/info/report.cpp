#include "info/report.hpp"

#include "bootstrap/launchers/pmix/pmix.hpp"
#include "bootstrap/selection/select.hpp"

#include <weft/error.hpp>
#include <weft/networks.hpp>
#include <weft/version.hpp>

#include "base/agreed_attributes.hpp"
#include "base/log.hpp"

namespace weft::tools::info {
namespace {

std::string value_or(const char* text, const char* otherwise) { return *text == '\0' ? otherwise : text; }

std::vector<BuildOption> build_options() {
  return {{"type", value_or(WEFT_BUILD_TYPE, "none")},
          {"compiler", WEFT_BUILD_COMPILER},
          {"library", WEFT_BUILD_LIBRARY},
          {"sanitizer", value_or(WEFT_BUILD_SANITIZER, "none")},
          {"hwloc", WEFT_BUILD_HWLOC ? "yes" : "no"},
#ifdef NDEBUG
          {"assertions", "no"}};
#else
          {"assertions", "yes"}};
#endif
}

std::vector<AttributeState> attribute_states() {
  const base::Attributes attributes = base::Attributes::load();
  for (const std::string& line : attributes.unknown_variables()) base::Log{}.warn(line);
  std::vector<AttributeState> states;
  for (const base::AttributeRow& row : base::kAttributeTable) {
    states.push_back({.name = std::string(row.name),
                      .variable = base::environment_name(row),
                      .type = std::string(base::to_string(row.type)),
                      .value = std::string(attributes.text(row.id)),
                      .source = std::string(base::to_string(attributes.source(row.id))),
                      .default_value = std::string(row.default_value),
                      .range = base::range_text(row) + (row.power_of_two ? ", power of two" : ""),
                      .unit = std::string(row.unit),
                      .help = base::help_text(row)});
  }
  return states;
}

std::vector<Component> networks() {
  std::vector<Component> components;
  for (const NetworkDescription& network : describe_networks())
    components.push_back({network.name, network.present, network.remark});
  return components;
}

/// Like a program that is started here.
std::string way_to_start() try { return bootstrap::describe_bootstrap(); } catch (const Error& error) {
  return std::string("none: ") + error.what();
}

}  // namespace

Report make_report() {
  return {.version = library_version(),
          .build = build_options(),
          .host = read_topology(),
          .networks = networks(),
          .bootstraps = {{"local", true, "ranks started by `weft run`"},
                         {"pmi1", true, "mpiexec of MPICH (Hydra), srun --mpi=pmi2"},
                         {"pmix", bootstrap::contact::why_no_pmix().empty(),
                          bootstrap::contact::why_no_pmix().empty()
                              ? "mpirun of Open MPI, prterun, srun --mpi=pmix"
                              : bootstrap::contact::why_no_pmix()},
                         {"mpi", true, "a program that has called MPI_Init"},
                         {"environment", true,
                          "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT: torchrun, Kubernetes"},
                         {"srun", true, "srun without an MPI plug-in"},
                         {"alone", true, "a program started alone"}},
          .start = way_to_start(),
          .attributes = attribute_states()};
}

}  // namespace weft::tools::info
