#include "variables.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

#include "file.hpp"

namespace lci {

namespace {

/// Whether `list` has `sought` in it. Throws for a name that LCI does not know, in words that its programs
/// look for.
bool names(std::string_view list, std::string_view sought) {
  constexpr std::array<std::string_view, 7> kKnown{"local", "file", "pmi1", "pmi2", "pmix", "mpi", "tcp"};
  constexpr std::string_view kSeparators = " ;,";
  bool is_there = false;
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find_first_of(kSeparators));
    if (!name.empty() && std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end())
      throw std::runtime_error("lci: Unknown env LCT_PMI_BACKEND '" + std::string(name) +
                               "': it must be of local, file, pmi1, pmi2, pmix, mpi and tcp");
    is_there |= name == sought;
    list.remove_prefix(std::min(list.size(), name.size() + 1));
  }
  return is_there;
}

/// Where rank 0 is, as LCI's variables tell it; returns whether weft's do now.
bool use_addresses_of_rank_0() {
  for (const char* const prefix : {"LCT", "LCI"}) {
    const char* const host = std::getenv((std::string(prefix) + "_MASTER_ADDR").c_str());
    const char* const port = std::getenv((std::string(prefix) + "_MASTER_PORT").c_str());
    if (host == nullptr || port == nullptr) continue;
    setenv("MASTER_ADDR", host, 1);
    setenv("MASTER_PORT", port, 1);
    return true;
  }
  return std::getenv("MASTER_ADDR") != nullptr && std::getenv("MASTER_PORT") != nullptr;
}

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

/// Whether there are variables by which weft joins a job whatever RANK says.
bool has_launcher() {
  constexpr std::array kLaunchers = {"WEFT_BOOTSTRAP", "PMI_FD", "PMIX_RANK", "SLURM_PROCID"};
  return std::any_of(kLaunchers.begin(), kLaunchers.end(), is_set);
}

/// For a program that LCI would run alone, because nothing tells where rank 0 is.
void leave_out_rank() {
  if (!is_set("RANK") || !is_set("WORLD_SIZE")) return;
  std::fputs(
      "lci: RANK and WORLD_SIZE are left out of account: "
      "MASTER_ADDR and MASTER_PORT do not tell where rank 0 is\n",
      stderr);
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
}

}  // namespace

void use_job_variables() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* const backends = std::getenv("LCT_PMI_BACKEND");
    const auto may_use = [&](const char* name) { return backends == nullptr || names(backends, name); };
    if (may_use("tcp") && use_addresses_of_rank_0() && is_set("RANK") && is_set("WORLD_SIZE")) return;
    if (has_launcher() || (may_use("file") && join_by_file()) || backends != nullptr) return;
    leave_out_rank();
  });
}

}  // namespace lci
