// Info objects: keys with values, in the order in which they were set.
#pragma once

#include "bindings/mpi/objects/object.hpp"

#include <string>
#include <utility>
#include <vector>

namespace weft::mpi {

struct Info : Object {
  static constexpr Kind kKind = Kind::info;
  Info() : Object(kKind) {}

  [[nodiscard]] const std::string* find_value(const std::string& key) const;
  void set(const std::string& key, const std::string& value);

  std::vector<std::pair<std::string, std::string>> entries;
};

/// A copy; of no object an empty one.
[[nodiscard]] Info* copy_of(const Info* info);
/// A copy of the hints in it that MPI defines: others are ignored, and a program that asks is not given them.
[[nodiscard]] Info* hints_in(const Info* info);

}  // namespace weft::mpi
