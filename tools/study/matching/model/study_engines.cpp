#include "study/matching/model/study_engines.hpp"

#include <weft/error.hpp>
#include <weft/matching/plugin.hpp>

#include <fmt/core.h>

#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "study/matching/algorithms/algorithms.hpp"

namespace weft::tools::study {

std::span<const StudyEngine> study_engines() {
  static const std::vector<StudyEngine> all = [] {
    std::vector<StudyEngine> engines;
    for (const MatchingAlgorithmInfo& algorithm : matching_algorithms())
      engines.push_back({algorithm.name, algorithm.help, true});
    engines.push_back({"hash", "weft's unordered engine: a table of cache lines, no wildcards", false});
    engines.push_back(
        {"ordered", "weft's ordered engine: the same table, with MPI's order and wildcards", true});
    return engines;
  }();
  return all;
}

const StudyEngine& engine_of_library(const std::string& file) {
  static std::map<std::string, StudyEngine> loaded;  // by path
  static std::deque<std::string> names;
  const std::string path = std::filesystem::absolute(file).lexically_normal().string();
  if (const auto found = loaded.find(path); found != loaded.end()) return found->second;
  ::dlerror();
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error(fmt::format("--algorithm {} cannot be loaded: {}", file, ::dlerror()));
  const auto make = reinterpret_cast<MatchingAlgorithm* (*)()>(::dlsym(library, kMatchingAlgorithmFunction));
  if (make == nullptr)
    throw Error(
        fmt::format("--algorithm {}: the library has no function {}: it must say "
                    "WEFT_MATCHING_ALGORITHM(Type) of weft/matching/plugin.hpp",
                    file, kMatchingAlgorithmFunction));
  std::string name = std::filesystem::path(path).stem().string();
  if (name.starts_with("lib") && name.size() > 3) name.erase(0, 3);
  for (const StudyEngine& engine : study_engines())
    if (engine.name == name) name += " (" + file + ")";
  const std::string& kept_name = names.emplace_back(std::move(name));
  const std::string& kept_path = names.emplace_back(path);
  return loaded.emplace(path, StudyEngine{kept_name, "of a library", true, kept_path, make}).first->second;
}

const StudyEngine& engine_named(std::string_view name) {
  if (name.find('/') != std::string_view::npos) return engine_of_library(std::string(name));
  std::string names;
  for (const StudyEngine& engine : study_engines()) {
    if (engine.name == name) return engine;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", engine.name);
  }
  throw Error(fmt::format("there is no matching engine '{}'; there are {}", name, names));
}

namespace {

/// Null for engines of weft's own.
std::shared_ptr<MatchingAlgorithm> algorithm_of(const StudyEngine& engine) {
  if (engine.make == nullptr) return make_matching_algorithm(engine.name);
  std::shared_ptr<MatchingAlgorithm> made(engine.make());
  if (made == nullptr) throw Error(fmt::format("--algorithm {}: it has made no algorithm", engine.file));
  return made;
}

}  // namespace

OfflineMatchingOptions offline_options(const StudyEngine& engine, std::uint64_t items, int ranks,
                                       bool counters) {
  constexpr std::uint64_t kMost = 1 << 24;
  constexpr std::uint64_t kFewestBuckets = 16'384;  // of a runtime
  // So many that keys which spread at random seldom meet: those of several ranks do.
  const std::uint64_t buckets = std::bit_ceil(std::max(4 * items, kFewestBuckets));
  return {.order = engine.is_ordered ? MatchOrder::ordered : MatchOrder::unordered,
          .algorithm = algorithm_of(engine),
          .counters = counters,
          .records = static_cast<std::uint32_t>(std::min(2 * items + 1, kMost)),
          .buckets = static_cast<std::uint32_t>(std::min(buckets, kMost)),
          .ranks = ranks};
}

MatchingEngineOptions engine_options(const StudyEngine& engine, std::uint16_t number, bool counters) {
  const std::uint32_t first = engine.is_ordered ? kMatchingEngines : 0;
  return {.id = static_cast<std::uint16_t>(first + number),
          .order = engine.is_ordered ? MatchOrder::ordered : MatchOrder::unordered,
          .algorithm = algorithm_of(engine),
          .counters = counters};
}

}  // namespace weft::tools::study
