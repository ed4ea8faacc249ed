#include "study/launch/variants.hpp"

#include <weft/error.hpp>

#include <array>
#include <filesystem>
#include <utility>

#include "common/commands/option_values.hpp"
#include "experiment/launch/child_process.hpp"
#include "experiment/launch/weft_path.hpp"

namespace weft::tools::study {

namespace {

constexpr std::array kWords{
    std::pair<std::string_view, std::string_view>{"adaptive", "aggregation=adaptive"},
    std::pair<std::string_view, std::string_view>{"immediate", "aggregation=immediate"},
    std::pair<std::string_view, std::string_view>{"queued", "aggregation=queued"},
    std::pair<std::string_view, std::string_view>{"synchronizer", "followup_completion=synchronizer"},
    std::pair<std::string_view, std::string_view>{"header-synchronizer", "header_completion=synchronizer"},
    std::pair<std::string_view, std::string_view>{"followup-devices", "followup_devices=own"},
    std::pair<std::string_view, std::string_view>{"own-retries", "retries=own"},
    std::pair<std::string_view, std::string_view>{"2-devices", "devices=2"},
    std::pair<std::string_view, std::string_view>{"4-devices", "devices=4"},
    std::pair<std::string_view, std::string_view>{"8-devices", "devices=8"},
    std::pair<std::string_view, std::string_view>{"thread", "progress=thread"},
    std::pair<std::string_view, std::string_view>{"pinned", "progress=pinned"},
    std::pair<std::string_view, std::string_view>{"both", "progress=both"},
};

/// How messages travel: a parcelport of its own.
struct Form {
  std::string_view of;  // the variant's first word; mpi stands for all launchers of MPI
  std::string_view word;
  std::string_view port;
};
constexpr std::array kForms{
    Form{"weft", "onepost", "weft"},      Form{"weft", "putsendrecv", "putsendrecv"},
    Form{"weft", "sendrecv", "sendrecv"}, Form{"tcp", "onepost", "tcp"},
    Form{"mpi", "sendrecv", "mpi"},       Form{"mpi", "original", "mpi-original"},
};

/// What is no parcelport.
struct OtherProgram {
  Program program;
  std::string_view name;
  std::string_view study;
  std::string_view launcher;  // of the port; empty: none
  std::string_view packages;  // without which it is not built
};
constexpr std::array kPrograms{
    OtherProgram{Program::plain_mpi, "plain-mpi", "taskbench", "mpi", ""},
    OtherProgram{Program::starpu, "starpu", "taskbench", "openmpi", "libstarpu-dev, libopenmpi-dev"},
    OtherProgram{Program::openmp, "openmp", "uts", "", "a compiler with OpenMP"},
    OtherProgram{Program::ring, "two-copy-ring", "parcels", "weft", ""},
};

std::string known_words(std::string_view first) {
  std::string text;
  const auto add = [&text](std::string_view word) { text.append(text.empty() ? "" : ", ").append(word); };
  for (const Form& form : kForms)
    if (form.of == first) add(form.word);
  for (const auto& [word, option] : kWords) add(word);
  return text;
}

std::vector<std::string> launcher_of(std::string_view port) {
  if (port == "weft" || port == "tcp") return {weft_path(), "run"};
  const auto find = [](const char* program) { return find_in_path(program); };
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

std::string_view study_of(Program program) {
  for (const OtherProgram& other : kPrograms)
    if (other.program == program) return other.study;
  return {};
}

std::string path_of(Program program) {
  return (std::filesystem::path(weft_path()).parent_path() / WEFT_PERF_PLUGIN_FOLDER /
          (program == Program::starpu ? "weft-study-starpu" : "weft-study-openmp"))
      .string();
}

Variant variant_of(std::string_view name) {
  Variant variant;
  variant.name = name;
  for (const OtherProgram& other : kPrograms) {
    if (name != other.name) continue;
    variant.program = other.program;
    variant.options = name;
    if (!other.launcher.empty()) variant.launcher = launcher_of(other.launcher);
    if (!other.packages.empty() && !std::filesystem::exists(path_of(other.program)))
      throw Error(std::string(name) + ": weft was built without it (" + std::string(other.packages) + ")");
    return variant;
  }
  const std::string_view port = name.substr(0, name.find(':'));
  if (port != "weft" && port != "tcp" && port != "mpi" && port != "mpich" && port != "openmpi")
    throw OptionError(
        "variant '" + std::string(name) + "': '" + std::string(port) +
        "' is no parcelport; there are weft, tcp, mpi, mpich, openmpi, and for taskbench plain-mpi "
        "and starpu, for uts openmp, for parcels two-copy-ring");
  const std::string_view first = port == "weft" || port == "tcp" ? port : "mpi";
  std::string_view carrier = first;
  std::string options;
  for (std::string_view rest = name.substr(port.size()); !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find(':'));
    rest.remove_prefix(word.size());
    bool is_known = false;
    for (const Form& form : kForms)
      if (form.of == first && form.word == word) {
        carrier = form.port;
        is_known = true;
      }
    for (const auto& [each, option] : kWords)
      if (each == word) {
        options.append(",").append(option);
        is_known = true;
      }
    if (!is_known)
      throw OptionError("variant '" + std::string(name) + "': there is no '" + std::string(word) +
                        "'; there are " + known_words(first));
  }
  variant.options = "port=" + std::string(carrier) + options;
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
