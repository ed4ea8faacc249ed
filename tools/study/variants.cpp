#include "study/variants.hpp"

#include <weft/error.hpp>

#include <array>
#include <filesystem>
#include <utility>

#include "common/commands/option_values.hpp"
#include "perf/measure/child_process.hpp"
#include "perf/measure/own_path.hpp"

namespace weft::tools::study {

namespace {

constexpr std::array kWords{
    std::pair<std::string_view, std::string_view>{"adaptive", "aggregation=adaptive"},
    std::pair<std::string_view, std::string_view>{"immediate", "aggregation=immediate"},
    std::pair<std::string_view, std::string_view>{"queued", "aggregation=queued"},
    std::pair<std::string_view, std::string_view>{"onepost", "protocol=onepost"},
    std::pair<std::string_view, std::string_view>{"putsendrecv", "protocol=putsendrecv"},
    std::pair<std::string_view, std::string_view>{"sendrecv", "protocol=sendrecv"},
    std::pair<std::string_view, std::string_view>{"original", "protocol=original"},
    std::pair<std::string_view, std::string_view>{"synchronizer", "followup_completion=synchronizer"},
    std::pair<std::string_view, std::string_view>{"header-synchronizer", "header_completion=synchronizer"},
    std::pair<std::string_view, std::string_view>{"thread", "progress=thread"},
    std::pair<std::string_view, std::string_view>{"pinned", "progress=pinned"},
    std::pair<std::string_view, std::string_view>{"both", "progress=both"},
};

std::string known_words() {
  std::string text;
  for (const auto& [word, option] : kWords) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

std::vector<std::string> launcher_of(std::string_view port) {
  if (port == "weft" || port == "tcp") return {perf::own_path(), "run"};
  const auto find = [](const char* program) { return perf::find_in_path(program); };
  if (port != "openmpi") {
    for (const char* const name : {"mpiexec.mpich", "mpiexec.hydra"})
      if (std::string found = find(name); !found.empty()) return {std::move(found)};
    if (port == "mpich") throw Error("mpich: mpiexec.mpich is not installed");
  }
  for (const char* const name : {"mpiexec.openmpi", "prterun"})
    if (std::string found = find(name); !found.empty())
      return {std::move(found), "--oversubscribe", "--bind-to", "none"};  // ranks bind themselves
  throw Error(std::string(port) + ": no mpiexec is installed");
}

}  // namespace

std::string starpu_path() {
  return (std::filesystem::path(perf::own_path()).parent_path() / WEFT_PERF_PLUGIN_FOLDER /
          "weft-study-starpu")
      .string();
}

Variant variant_of(std::string_view name) {
  Variant variant;
  variant.name = name;
  if (name == "plain-mpi" || name == "starpu") {
    variant.program = name == "starpu" ? Program::starpu : Program::plain_mpi;
    variant.options = name;
    variant.launcher = launcher_of(name == "starpu" ? "openmpi" : "mpi");
    if (name == "starpu" && !std::filesystem::exists(starpu_path()))
      throw Error("starpu: weft was built without it (libstarpu-dev, libopenmpi-dev)");
    return variant;
  }
  const std::string_view port = name.substr(0, name.find(':'));
  if (port != "weft" && port != "tcp" && port != "mpi" && port != "mpich" && port != "openmpi")
    throw OptionError(
        "variant '" + std::string(name) + "': '" + std::string(port) +
        "' is no parcelport; there are weft, tcp, mpi, mpich, openmpi, and for taskbench plain-mpi "
        "and starpu");
  variant.options = port == "weft" ? "port=weft" : port == "tcp" ? "port=tcp" : "port=mpi";
  for (std::string_view rest = name.substr(port.size()); !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find(':'));
    rest.remove_prefix(word.size());
    bool is_known = false;
    for (const auto& [each, option] : kWords)
      if (each == word) {
        variant.options.append(",").append(option);
        is_known = true;
      }
    if (!is_known)
      throw OptionError("variant '" + std::string(name) + "': there is no '" + std::string(word) +
                        "'; there are " + known_words());
  }
  variant.launcher = launcher_of(port);
  return variant;
}

std::vector<Variant> variants_that_run(const std::vector<std::string>& names,
                                       std::vector<std::string>& left_out) {
  std::vector<Variant> variants;
  for (const std::string& name : names) {
    try {
      variants.push_back(variant_of(name));
    } catch (const Error& error) {
      left_out.emplace_back(error.what());
    }
  }
  return variants;
}

}  // namespace weft::tools::study
