#pragma once

#include <weft/topology.hpp>

#include <string>
#include <vector>

#include "base/attributes.hpp"

namespace weft::tools::info {

/// A part of weft that a build may have or lack.
struct Component {
  std::string name;
  bool present = false;
  std::string remark;  ///< its purpose, or the reason for its absence
};

struct BuildOption {
  std::string name;
  std::string value;
};

struct AttributeState {
  std::string name;
  std::string variable;
  std::string type;
  std::string value;
  std::string source;
  std::string default_value;
  std::string range;
  std::string unit;
  std::string help;
};

/// The data that `weft info` shows.
struct Report {
  std::string version;
  std::vector<BuildOption> build;
  Topology host;
  std::vector<Component> networks;
  std::vector<Component> bootstraps;
  std::string start;  // which of these a program would take here, and why
  std::vector<AttributeState> attributes;
};

/// Makes the report. Throws weft::Error when the environment sets an attribute wrongly.
Report make_report();

std::string as_table(const Report& report);
std::string as_json(const Report& report);

/// The attribute that a user names, as packet_size or WEFT_PACKET_SIZE in any case; null when there is none.
const AttributeState* find_attribute(const Report& report, const std::string& name);
/// Everything about one attribute.
std::string as_explanation(const AttributeState& state);
std::string as_json(const AttributeState& state);

/// docs/guide/variables.md: every variable, whatever the environment is.
std::string variables_page();

}  // namespace weft::tools::info
